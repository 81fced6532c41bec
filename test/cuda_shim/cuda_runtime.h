/* cuda_shim/cuda_runtime.h -- the part of the CUDA runtime that cuda/ uses, on
 * the CPU.
 *
 * A test tool: it runs the logic of the kernels where there is no GPU and says
 * nothing about their speed, nor about what only a GPU does (concurrent
 * blocks, its arithmetic). Names and meaning follow NVIDIA's
 * documentation of the runtime and of CUDA C++; sources of cuda/ compile as
 * they are, as plain C++, with this folder first in the search for headers.
 *
 * Blocks run one after the other, from launch to launch in another order; the
 * threads of a block are coroutines that wait for each other where a warp or a
 * block does. Work of a stream waits until the host waits for it. Device
 * memory lies in a range of its own, which shim.h can close to the host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUDA_RUNTIME_H
#define ETX_SHIM_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <tuple>

using std::isfinite;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__      static __attribute__((section("shim_shared")))
#define __grid_constant__
#define __launch_bounds__(...)

/* ------------------------------------------------------------- kernels -- */

struct dim3 {
    unsigned x, y, z;

    dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
        : x(of_x), y(of_y), z(of_z)
    {
    }
};

struct alignas(8) uint2 {
    unsigned x, y;
};

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

struct alignas(8) float2 {
    float x, y;
};

struct alignas(16) float4 {
    float x, y, z, w;
};

struct cudaLaunchAttribute;

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    struct cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

/* Of the thread that runs; one launch runs at a time. */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* A call that starts work of its own on the stream begins with this, which may
 * make it fail. */
enum shim_work { SHIM_KERNEL, SHIM_PRODUCT, SHIM_SORT };
cudaError_t shim_begin(enum shim_work work, cudaStream_t stream);

/* Do this once the host waits for the stream, after what was queued before. */
void shim_queue(cudaStream_t stream, std::function<void()> work);

/* A kernel and its parameters. */
template <typename... Parameters> struct shim_kernel {
    void (*kernel)(Parameters...);
    std::tuple<Parameters...> values;

    static void run(void *self)
    {
        const shim_kernel *const call = static_cast<shim_kernel *>(self);

        std::apply(call->kernel, call->values);
    }
};

/* body(kernel) as every thread of the launch; a copy of the bytes of kernel. */
cudaError_t shim_launch(const struct cudaLaunchConfig_t *config,
    void (*body)(void *kernel), const void *kernel, size_t bytes);

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const struct cudaLaunchConfig_t *config,
    void (*kernel)(Parameters...), Arguments &&...arguments)
{
    const struct shim_kernel<Parameters...> call = {
        kernel, std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)
    };

    static_assert(sizeof call <= 4096, "what a kernel's parameters may take");
    return shim_launch(config, call.run, &call, sizeof call);
}

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };

/* Shared memory of later launches, of any kernel. */
cudaError_t shim_allow_shared_memory(int bytes);

template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel *, enum cudaFuncAttribute, int value)
{
    return shim_allow_shared_memory(value);
}

/* The value of the lane whose number differs in the bits of mask; all 32 lanes
 * of the warp must come here. */
uint64_t shim_exchange(uint64_t value, int mask);
/* What __syncthreads() does. */
void __syncthreads(void);

static inline void __syncwarp(void)
{
    (void)shim_exchange(0, 0);
}

template <typename T> T __shfl_xor_sync(unsigned lanes, T value, int mask)
{
    uint64_t bits = 0;

    static_assert(sizeof value <= sizeof bits, "of 8 bytes at most");
    if (lanes != 0xFFFFFFFFu)
        return value;
    memcpy(&bits, &value, sizeof value);
    bits = shim_exchange(bits, mask);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int __ldcg(const int *value)
{
    return *value;
}

static inline unsigned __ballot_sync(unsigned lanes, int is_set)
{
    unsigned bits = (unsigned)(is_set != 0) << (threadIdx.x % 32);

    for (int step = 16; step > 0; step /= 2)
        bits |= __shfl_xor_sync(lanes, bits, step);
    return bits;
}

static inline int __any_sync(unsigned lanes, int is_set)
{
    return __ballot_sync(lanes, is_set) != 0;
}

/* ---------------------------------------------------- device functions -- */

#define __ffs __builtin_ffs

#define __expf expf /* the C library has a function of this name */

/* As on a device, by a very large number 0. */
static inline float __fdividef(float x, float y)
{
    return fabsf(y) > 0x1p126f ? x / INFINITY : x / y;
}

static inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float __uint_as_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* An atomic access is about to be made by the instruction at code. */
extern "C" void shim_atomic(void *at, size_t bytes, void *code);

#define SHIM_ATOMIC                                                            \
    template <typename T> __attribute__((noinline, no_sanitize("thread"))) T
#define SHIM_ATOMIC_BEGINS(at)                                                 \
    shim_atomic((at), sizeof *(at), __builtin_return_address(0))

SHIM_ATOMIC atomicMin(T *at, T value)
{
    SHIM_ATOMIC_BEGINS(at);
    const T before = *at;

    *at = value < before ? value : before;
    return before;
}

SHIM_ATOMIC atomicMax(T *at, T value)
{
    SHIM_ATOMIC_BEGINS(at);
    const T before = *at;

    *at = value > before ? value : before;
    return before;
}

SHIM_ATOMIC atomicAdd(T *at, T value)
{
    SHIM_ATOMIC_BEGINS(at);
    const T before = *at;

    *at = before + value;
    return before;
}

SHIM_ATOMIC atomicCAS(T *at, T expected, T value)
{
    SHIM_ATOMIC_BEGINS(at);
    const T before = *at;

    if (before == expected)
        *at = value;
    return before;
}

#endif
