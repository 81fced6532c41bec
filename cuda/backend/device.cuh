/* cuda/backend/device.cuh -- the device part of a context on a GPU.
 *
 * Everything is queued on one stream and nothing waits for the whole device.
 * Functions leave the device that is current in the calling thread as it was.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_DEVICE_CUH
#define ETX_CUDA_BACKEND_DEVICE_CUH

extern "C" {
#include "backend/backend.h"
#include "base/status.h"
}

#include "cuda/backend/process.h"

#include <cuda.h>
#include <cuda_runtime.h>

#define ETX_CUDA_STAGING   ((size_t)4 << 20)  /* bytes of each half */
#define ETX_CUDA_WORKSPACE ((size_t)32 << 20) /* bytes for cuBLASLt */
#define ETX_CUDA_MAX_LIVE  256                /* live allocations */
#define ETX_CUDA_MAX_PLANS 64

/* The algorithm of cuBLASLt for matrix products of one shape. */
struct etx_cuda_plan {
    int64_t m, n, k;
    int32_t is_transposed; /* bit 0: a, bit 1: b */
    int32_t is_half;       /* float16 times float16 */
    int32_t c_is_half;     /* as float16 */
    int32_t is_tf32;       /* float32 rounded to TF32 */
    int32_t alignment;     /* bytes, the smallest of the pointers */
    int32_t is_used;
    cublasLtMatmulAlgo_t algorithm;
};

struct etx_cuda_live {
    void *address;
    size_t bytes;
};

struct etx_cuda {
    int index;
    CUdevice device;
    CUcontext context; /* the primary one of the device, retained */
    CUresult (*push)(CUcontext);
    CUresult (*pop)(CUcontext *);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*release)(CUdevice);
    int n_multiprocessors;
    int shared_bytes; /* that a block can have */
    cudaStream_t stream;
    int32_t owns_stream;
    cudaMemPool_t pool;
    cublasLtHandle_t blas;
    void *workspace;       /* [ETX_CUDA_WORKSPACE], on the device */
    char *staging;         /* [2, ETX_CUDA_STAGING], pinned */
    cudaEvent_t staged[2]; /* the copy from this half is complete */
    cudaEvent_t done;      /* all that was queued before the host waits */
    cudaEvent_t mark[ETX_MAX_MARKS]; /* or NULL; with times */
    int64_t *fetched;                /* [ETX_MAX_FETCHED], pinned */
    int32_t half; /* of staging, of which staged_bytes are in use */
    size_t staged_bytes;
    int32_t next_fetched;
    size_t limit, in_use, peak; /* bytes of the pool; limit 0: none */
    uint64_t kept;              /* the pool keeps up to these, free or not */
    int32_t n_live;
    struct etx_cuda_live live[ETX_CUDA_MAX_LIVE];
    int32_t next_plan;
    struct etx_cuda_plan plan[ETX_CUDA_MAX_PLANS];
    struct etx_memory memory;
};

static inline struct etx_cuda *etx_cuda_of(const struct etx_stream *stream)
{
    return static_cast<struct etx_cuda *>(stream->device);
}

/* ETX_OK, or the failure of `what` with CUDA's reason: ETX_ERR_MEMORY when the
 * device is out of it, else ETX_ERR_DEVICE. */
etx_status etx_cuda_check(cudaError_t error, const char *what);
etx_status etx_cuda_check_blas(cublasStatus_t error, const char *what);

/* Return the failure of an etx_status or a CUDA call to the caller: objects
 * with destructors clean up. */
#define ETX_TRY(call)                                                          \
    do {                                                                       \
        const etx_status tried = (call);                                       \
        if (tried != ETX_OK)                                                   \
            return tried;                                                      \
    } while (0)
#define ETX_CUDA(call) ETX_TRY(etx_cuda_check((call), #call))

/* Fills cuda->memory with the functions of the device's memory. */
void etx_cuda_open_memory(struct etx_cuda *cuda);
/* Free what is still allocated. */
void etx_cuda_close_memory(struct etx_cuda *cuda);

/* Retain the primary context of the device; release it. */
etx_status etx_cuda_retain(struct etx_cuda *cuda);
void etx_cuda_release(struct etx_cuda *cuda);
/* Keep it for the contexts to come. */
etx_status etx_cuda_keep(const struct etx_cuda *cuda);

/* The device is current while this lives. Its context is pushed and popped:
 * cudaSetDevice() back to a device that the caller does not use would create a
 * context there, which takes memory and time. What another thread captures into
 * a graph does not forbid this thread's calls meanwhile. */
struct etx_cuda_current {
    explicit etx_cuda_current(const struct etx_cuda *cuda);
    ~etx_cuda_current();
    etx_cuda_current(const etx_cuda_current &) = delete;
    etx_cuda_current &operator=(const etx_cuda_current &) = delete;
    etx_status status;

  private:
    CUresult (*pop)(CUcontext *);
    int32_t is_pushed;
    enum cudaStreamCaptureMode mode; /* the caller's */
};

/* As etx_check_cancelled within an operator: the caller's device is current in
 * its callback. */
etx_status etx_cuda_check_cancelled(const struct etx_stream *stream);

/* Scratch of a function: the arena is reset when it returns. */
struct etx_cuda_scratch {
    explicit etx_cuda_scratch(struct etx_stream *of)
        : arena(of->arena), mark(etx_arena_mark(of->arena))
    {
    }
    ~etx_cuda_scratch()
    {
        etx_arena_reset(arena, mark);
    }
    etx_cuda_scratch(const etx_cuda_scratch &) = delete;
    etx_cuda_scratch &operator=(const etx_cuda_scratch &) = delete;

    /* *out [count] on the device. */
    template <typename T>
    etx_status alloc(T **out, int64_t count, const char *what)
    {
        return etx_arena_alloc(out, arena, count, sizeof(T), what);
    }
    /* Several arrays. */
    template <typename... T>
    etx_status alloc_all(int64_t count, const char *what, T **...out)
    {
        etx_status status = ETX_OK;

        (void)(((status = alloc(out, count, what)) == ETX_OK) && ...);
        return status;
    }

  private:
    struct etx_arena *arena;
    struct etx_arena_mark mark;
};

#endif
