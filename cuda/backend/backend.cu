/* cuda/backend/backend.cu -- open and close a context on a GPU.
 *
 * A context on a device has a context on the CPU for what runs on the host by
 * design: first pass, Hough votes, numbering of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/device.cuh"
#include "cuda/op/operators.h"

extern "C" {
#include "base/heap.h"
}

#include <stdlib.h>

/* 1: scratch is always guarded. */
#ifndef ETX_CUDA_GUARDED
#define ETX_CUDA_GUARDED 0
#endif

/* cuBLASLt and the pool need at least this. */
#define MIN_MAJOR 8

static etx_status check_device(int index)
{
    int n_devices = 0;
    int major = 0;

    ETX_CUDA(cudaGetDeviceCount(&n_devices));
    if (index >= n_devices)
        return etx_fail(ETX_ERR_DEVICE,
            "device cuda: device_index %d: this machine has %d", index,
            n_devices);
    ETX_CUDA(cudaDeviceGetAttribute(
        &major, cudaDevAttrComputeCapabilityMajor, index));
    if (major < MIN_MAJOR)
        return etx_fail(ETX_ERR_DEVICE,
            "device cuda: device %d has compute capability %d, but %d is "
            "needed",
            index, major, MIN_MAJOR);
    return ETX_OK;
}

/* A pool that keeps freed memory for the next event: as much as was ever in use
 * (memory.cu). */
static etx_status make_pool(struct etx_cuda *cuda)
{
    cudaMemPoolProps properties = {};

    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = cuda->index;
    ETX_CUDA(cudaMemPoolCreate(&cuda->pool, &properties));
    return ETX_OK;
}

static etx_status check_stream(const struct etx_cuda *cuda, cudaStream_t stream)
{
    int device = -1;

    ETX_CUDA(cudaStreamGetDevice(stream, &device));
    if (device != cuda->index)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: stream is of device %d and device_index is %d",
            device, cuda->index);
    return ETX_OK;
}

static etx_status make_stream(struct etx_cuda *cuda, void *stream)
{
    if (stream != NULL) {
        ETX_TRY(check_stream(cuda, static_cast<cudaStream_t>(stream)));
        cuda->stream = static_cast<cudaStream_t>(stream);
        return ETX_OK;
    }
    ETX_CUDA(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
    cuda->owns_stream = 1;
    return ETX_OK;
}

static etx_status query_sizes(struct etx_cuda *cuda)
{
    ETX_CUDA(cudaDeviceGetAttribute(
        &cuda->n_multiprocessors, cudaDevAttrMultiProcessorCount, cuda->index));
    ETX_CUDA(cudaDeviceGetAttribute(&cuda->shared_bytes,
        cudaDevAttrMaxSharedMemoryPerBlockOptin, cuda->index));
    return ETX_OK;
}

static etx_status make_device(struct etx_cuda *cuda, void *stream)
{
    ETX_TRY(query_sizes(cuda));
    ETX_TRY(make_stream(cuda, stream));
    ETX_TRY(make_pool(cuda));
    etx_cuda_open_memory(cuda);
    for (cudaEvent_t *event : {&cuda->staged[0], &cuda->staged[1], &cuda->done})
        ETX_CUDA(cudaEventCreateWithFlags(
            event, cudaEventDisableTiming | cudaEventBlockingSync));
    ETX_CUDA(cudaMallocHost(reinterpret_cast<void **>(&cuda->staging),
        2 * ETX_CUDA_STAGING + ETX_MAX_FETCHED * sizeof *cuda->fetched));
    cuda->fetched =
        reinterpret_cast<int64_t *>(cuda->staging + 2 * ETX_CUDA_STAGING);
    ETX_CUDA(cudaMallocFromPoolAsync(
        &cuda->workspace, ETX_CUDA_WORKSPACE, cuda->pool, cuda->stream));
    return etx_cuda_check_blas(
        etx_blas.cublasLtCreate(&cuda->blas), "cublasLtCreate");
}

/* The context on the CPU. */
static etx_status make_host(struct etx_context *context)
{
    struct etx_context *host = NULL;
    etx_status status = etx_alloc(&host, 1, sizeof *host, "context");

    if (status != ETX_OK)
        return status;
    host->options = context->options;
    host->options.device = ETX_DEVICE_CPU;
    status = etx_backend_open(host);
    if (status != ETX_OK) {
        etx_free(host);
        return status;
    }
    context->host = host;
    return ETX_OK;
}

/* Each array of scratch is an allocation of its own, for a tool that checks
 * bounds: compute-sanitizer, or the checked emulation. */
static bool is_guarded(void)
{
    return ETX_CUDA_GUARDED || getenv("ETX_GUARD_SCRATCH") != NULL;
}

static etx_status open(struct etx_context *context)
{
    struct etx_stream *stream = &context->stream_storage;
    struct etx_cuda *cuda = NULL;
    const int index = context->options.device_index;

    ETX_TRY(check_device(index));
    ETX_TRY(etx_cuda_load_blas());
    ETX_TRY(make_host(context));
    ETX_TRY(etx_alloc(&cuda, 1, sizeof *cuda, "device context"));
    cuda->index = index;
    cuda->limit = (size_t)context->options.memory_limit;
    stream->device = cuda;
    ETX_TRY(etx_cuda_retain(cuda));
    const struct etx_cuda_current current(cuda);
    ETX_TRY(current.status);
    ETX_TRY(make_device(cuda, context->options.stream));
    stream->memory = &cuda->memory;
    ETX_TRY(etx_arena_create_at(
        &stream->arena, context->options.memory_limit, 0, stream->memory));
    if (is_guarded())
        etx_arena_guard(stream->arena);
    ETX_TRY(etx_weight_cache_create(&stream->weight_cache, stream->memory));
    stream->cancel = context->options.cancel;
    stream->cancel_user = context->options.cancel_user;
    etx_op_cuda(&context->table);
    context->ops = &context->table;
    context->stream = stream;
    return etx_cuda_keep(cuda);
}

static void free_device(struct etx_cuda *cuda)
{
    if (cuda->context == NULL)
        return;
    const struct etx_cuda_current current(cuda);

    if (cuda->blas != NULL)
        (void)etx_blas.cublasLtDestroy(cuda->blas);
    if (cuda->workspace != NULL)
        (void)cudaFreeAsync(cuda->workspace, cuda->stream);
    etx_cuda_close_memory(cuda);
    if (cuda->stream != NULL || cuda->pool != NULL)
        (void)cudaStreamSynchronize(cuda->stream);
    (void)cudaFreeHost(cuda->staging);
    for (const cudaEvent_t event :
        {cuda->staged[0], cuda->staged[1], cuda->done})
        if (event != NULL)
            (void)cudaEventDestroy(event);
    for (const cudaEvent_t event : cuda->mark)
        if (event != NULL)
            (void)cudaEventDestroy(event);
    if (cuda->pool != NULL)
        (void)cudaMemPoolDestroy(cuda->pool);
    if (cuda->owns_stream)
        (void)cudaStreamDestroy(cuda->stream);
    /* Failures of these calls must not appear in the caller's next one. */
    (void)cudaGetLastError();
}

extern "C" etx_status etx_backend_cuda_open(struct etx_context *context)
{
    const etx_status status = open(context);

    if (status != ETX_OK)
        etx_backend_cuda_close(context);
    return status;
}

extern "C" void etx_backend_cuda_close(struct etx_context *context)
{
    struct etx_stream *stream = &context->stream_storage;
    struct etx_cuda *cuda = etx_cuda_of(stream);

    etx_weight_cache_free(stream->weight_cache);
    etx_arena_free(stream->arena);
    if (cuda != NULL)
        free_device(cuda);
    if (cuda != NULL)
        etx_cuda_release(cuda);
    etx_free(cuda);
    *stream = {};
    if (context->host != NULL)
        etx_backend_close(context->host);
    etx_free(context->host);
    context->host = NULL;
}
