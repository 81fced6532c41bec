/* cuda/backend/launch.cuh -- start kernels on a context's stream.
 *
 * Kernels are grid-stride loops over n items, so that any n runs on a grid of
 * bounded size. Warp kernels give an item to the 32 threads of a warp.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_LAUNCH_CUH
#define ETX_CUDA_BACKEND_LAUNCH_CUH

#include "cuda/backend/device.cuh"

#define ETX_CUDA_BLOCK      256
#define ETX_CUDA_MAX_BLOCKS ((int64_t)1 << 20)
#define ETX_CUDA_WARP       32
#define ETX_CUDA_ALL_LANES  0xFFFFFFFFu

__device__ static inline int64_t etx_first_item()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ static inline int64_t etx_item_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* The same for warps; the lane of a thread. */
__device__ static inline int64_t etx_first_warp_item()
{
    return etx_first_item() / ETX_CUDA_WARP;
}

__device__ static inline int64_t etx_warp_item_step()
{
    return etx_item_step() / ETX_CUDA_WARP;
}

__device__ static inline int32_t etx_lane()
{
    return (int32_t)(threadIdx.x % ETX_CUDA_WARP);
}

/* *at = value, also written by other threads, with the same value. */
template <typename T>
__device__ static inline void etx_write_same(T *at, T value)
{
    *const_cast<volatile T *>(at) = value;
}

/* The index of one more item: *n before it is counted. */
__device__ static inline int64_t etx_append(int64_t *n)
{
    return (int64_t)atomicAdd(reinterpret_cast<unsigned long long *>(n), 1ull);
}

/* The sum over a warp, the same bits in every lane. */
template <typename T> __device__ static inline T etx_warp_sum(T value)
{
    for (int step = ETX_CUDA_WARP / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(ETX_CUDA_ALL_LANES, value, step);
    return value;
}

/* kernel on n_blocks blocks with dynamic shared memory. */
template <typename... Parameters, typename... Arguments>
etx_status etx_launch_grid(struct etx_stream *stream, int64_t n_blocks,
    int n_threads, size_t shared_bytes, void (*kernel)(Parameters...),
    Arguments... arguments)
{
    cudaLaunchConfig_t config = {};

    config.gridDim = dim3((unsigned)n_blocks);
    config.blockDim = dim3((unsigned)n_threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = etx_cuda_of(stream)->stream;
    return etx_cuda_check(cudaLaunchKernelEx(&config, kernel,
                              static_cast<Parameters>(arguments)...),
        "start of a kernel");
}

template <typename... Parameters, typename... Arguments>
etx_status etx_launch_threads(struct etx_stream *stream, int64_t n_threads,
    size_t shared_bytes, void (*kernel)(Parameters...), Arguments... arguments)
{
    const int64_t wanted = (n_threads + ETX_CUDA_BLOCK - 1) / ETX_CUDA_BLOCK;
    const int64_t n_blocks =
        wanted < ETX_CUDA_MAX_BLOCKS ? wanted : ETX_CUDA_MAX_BLOCKS;

    if (n_threads <= 0)
        return ETX_OK;
    return etx_launch_grid(
        stream, n_blocks, ETX_CUDA_BLOCK, shared_bytes, kernel, arguments...);
}

/* kernel over n items, one per thread. */
template <typename... Parameters, typename... Arguments>
etx_status etx_launch(struct etx_stream *stream, int64_t n,
    void (*kernel)(Parameters...), Arguments... arguments)
{
    return etx_launch_threads(stream, n, 0, kernel, arguments...);
}

/* kernel over n items, one per warp. */
template <typename... Parameters, typename... Arguments>
etx_status etx_launch_warps(struct etx_stream *stream, int64_t n,
    void (*kernel)(Parameters...), Arguments... arguments)
{
    return etx_launch_threads(
        stream, n * ETX_CUDA_WARP, 0, kernel, arguments...);
}

#endif
