/* cuda/backend/memory.cu -- the memory space of a device.
 *
 * Memory comes from a pool of the context in stream order, so freeing it waits
 * for nothing. Copies to the device are double-buffered: the host fills one
 * half of a pinned buffer while the other half is copied; copies that do not
 * fill a half share it, one after the other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/device.cuh"

#include <string.h>

#define STAGING_STEP 64 /* bytes between copies */
#define POLLS        64 /* for work that is almost done: some tens of microseconds */

etx_status etx_cuda_check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return ETX_OK;
    /* Clears the failure of a call; that of a kernel is sticky. */
    (void)cudaGetLastError();
    return etx_fail(
        error == cudaErrorMemoryAllocation ? ETX_ERR_MEMORY : ETX_ERR_DEVICE,
        "device cuda: %s: %s (%s)", what, cudaGetErrorString(error),
        cudaGetErrorName(error));
}

/* A function of the driver, which is loaded with the runtime, not linked. */
template <typename Function>
static etx_status find(Function **out, const char *name)
{
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    void *address = NULL;

    ETX_CUDA(cudaGetDriverEntryPointByVersion(
        name, &address, CUDA_VERSION, cudaEnableDefault, &result));
    if (result != cudaDriverEntryPointSuccess)
        return etx_fail(
            ETX_ERR_DEVICE, "device cuda: the driver has no %s", name);
    *out = reinterpret_cast<Function *>(address);
    return ETX_OK;
}

static etx_status check_driver(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return ETX_OK;
    return etx_fail(
        result == CUDA_ERROR_OUT_OF_MEMORY ? ETX_ERR_MEMORY : ETX_ERR_DEVICE,
        "device cuda: %s: error %d of the driver", what, (int)result);
}

etx_status etx_cuda_retain(struct etx_cuda *cuda)
{
    CUresult (*get)(CUdevice *, int) = NULL;
    CUdevice device = 0;

    ETX_TRY(find(&get, "cuDeviceGet"));
    ETX_TRY(find(&cuda->retain, "cuDevicePrimaryCtxRetain"));
    ETX_TRY(find(&cuda->release, "cuDevicePrimaryCtxRelease"));
    ETX_TRY(find(&cuda->push, "cuCtxPushCurrent"));
    ETX_TRY(find(&cuda->pop, "cuCtxPopCurrent"));
    ETX_TRY(check_driver(get(&device, cuda->index), "cuDeviceGet"));
    cuda->device = device;
    return check_driver(
        cuda->retain(&cuda->context, device), "cuDevicePrimaryCtxRetain");
}

etx_status etx_cuda_keep(const struct etx_cuda *cuda)
{
    return check_driver(etx_cuda_keep_context(cuda->device, cuda->retain),
        "cuDevicePrimaryCtxRetain");
}

void etx_cuda_release(struct etx_cuda *cuda)
{
    if (cuda->context != NULL)
        (void)cuda->release(cuda->device);
    cuda->context = NULL;
}

etx_cuda_current::etx_cuda_current(const struct etx_cuda *cuda)
    : status(check_driver(cuda->push(cuda->context), "cuCtxPushCurrent")),
      pop(cuda->pop), is_pushed(status == ETX_OK),
      mode(cudaStreamCaptureModeRelaxed)
{
    if (is_pushed)
        (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

etx_cuda_current::~etx_cuda_current()
{
    CUcontext unused = NULL;

    if (!is_pushed)
        return;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    (void)pop(&unused);
}

etx_status etx_cuda_check_cancelled(const struct etx_stream *stream)
{
    const struct etx_cuda *cuda = etx_cuda_of(stream);
    CUcontext ours = NULL;

    ETX_TRY(check_driver(cuda->pop(&ours), "cuCtxPopCurrent"));
    const etx_status status = etx_check_cancelled(stream);
    ETX_TRY(check_driver(cuda->push(ours), "cuCtxPushCurrent"));
    return status;
}

static struct etx_cuda *owner(const struct etx_memory *memory)
{
    return static_cast<struct etx_cuda *>(memory->device);
}

static etx_status check_limit(
    const struct etx_cuda *cuda, size_t bytes, const char *what)
{
    if (cuda->n_live == ETX_CUDA_MAX_LIVE)
        return etx_fail(ETX_ERR_MEMORY,
            "%s: %d blocks of device memory are allocated already", what,
            ETX_CUDA_MAX_LIVE);
    if (cuda->limit > 0 &&
        (cuda->in_use > cuda->limit || bytes > cuda->limit - cuda->in_use))
        return etx_fail(ETX_ERR_MEMORY,
            "%s: %zu bytes of device memory on top of %zu are more than the "
            "context's memory limit of %zu",
            what, bytes, cuda->in_use, cuda->limit);
    return ETX_OK;
}

/* The allocation that begins at address, or NULL. */
static struct etx_cuda_live *find_live(struct etx_cuda *cuda, void *address)
{
    for (int32_t i = 0; i < cuda->n_live; i++)
        if (cuda->live[i].address == address)
            return &cuda->live[i];
    return NULL;
}

static void device_free(const struct etx_memory *memory, void *address)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);
    struct etx_cuda_live *live = find_live(cuda, address);

    if (live != NULL) {
        cuda->in_use -= live->bytes;
        *live = cuda->live[--cuda->n_live];
    }
    (void)cudaFreeAsync(address, cuda->stream);
}

/* The pool keeps what was in use at the same time, and a quarter for blocks of
 * other sizes: those that the arena has replaced by a larger one go back to the
 * device. */
static etx_status keep_in_use(struct etx_cuda *cuda)
{
    uint64_t kept = ETX_CUDA_WORKSPACE + cuda->in_use + cuda->in_use / 4;

    if (kept <= cuda->kept)
        return ETX_OK;
    ETX_CUDA(cudaMemPoolSetAttribute(
        cuda->pool, cudaMemPoolAttrReleaseThreshold, &kept));
    cuda->kept = kept;
    return ETX_OK;
}

static etx_status device_alloc(
    void **out, const struct etx_memory *memory, size_t bytes, const char *what)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);
    void *address = NULL;

    ETX_TRY(current.status);
    ETX_TRY(check_limit(cuda, bytes, what));
    ETX_TRY(etx_cuda_check(
        cudaMallocFromPoolAsync(&address, bytes, cuda->pool, cuda->stream),
        what));
    cuda->live[cuda->n_live].address = address;
    cuda->live[cuda->n_live].bytes = bytes;
    cuda->n_live++;
    cuda->in_use += bytes;
    if (cuda->in_use > cuda->peak)
        cuda->peak = cuda->in_use;
    const etx_status status = keep_in_use(cuda);

    if (status == ETX_OK)
        *out = address;
    else
        device_free(memory, address);
    return status;
}

/* The next n bytes of the staging buffer: of the same half as before or, where
 * that is full, of the other one, once its last copy is complete. */
static etx_status next_staging(char **out, struct etx_cuda *cuda, size_t n)
{
    if (cuda->staged_bytes + n > ETX_CUDA_STAGING) {
        cuda->half = 1 - cuda->half;
        cuda->staged_bytes = 0;
        ETX_CUDA(cudaEventSynchronize(cuda->staged[cuda->half]));
    }
    *out = cuda->staging + (size_t)cuda->half * ETX_CUDA_STAGING +
           cuda->staged_bytes;
    cuda->staged_bytes += (n + STAGING_STEP - 1) / STAGING_STEP * STAGING_STEP;
    return ETX_OK;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static etx_status host_to_device(
    const struct etx_memory *memory, void *to, const void *from, size_t bytes)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);

    ETX_TRY(current.status);
    for (size_t done = 0; done < bytes; done += ETX_CUDA_STAGING) {
        const size_t n = smaller(bytes - done, ETX_CUDA_STAGING);
        char *staging = NULL;

        ETX_TRY(next_staging(&staging, cuda, n));
        memcpy(staging, static_cast<const char *>(from) + done, n);
        ETX_CUDA(cudaMemcpyAsync(static_cast<char *>(to) + done, staging, n,
            cudaMemcpyHostToDevice, cuda->stream));
        ETX_CUDA(cudaEventRecord(cuda->staged[cuda->half], cuda->stream));
    }
    return ETX_OK;
}

/* Wait for what is queued: for a while at full speed, then without a processor.
 */
static etx_status wait(struct etx_cuda *cuda)
{
    cudaError_t error = cudaEventRecord(cuda->done, cuda->stream);
    bool was_busy = false;

    if (error != cudaSuccess)
        /* A copy that is queued must not reach memory that is used again. */
        (void)cudaStreamSynchronize(cuda->stream);
    else
        error = cudaErrorNotReady;
    for (int32_t poll = 0; poll < POLLS && error == cudaErrorNotReady; poll++) {
        error = cudaEventQuery(cuda->done);
        was_busy = was_busy || error == cudaErrorNotReady;
    }
    if (was_busy)
        (void)cudaGetLastError(); /* the next launch finds no error */
    if (error == cudaErrorNotReady)
        error = cudaEventSynchronize(cuda->done);
    if (error == cudaSuccess)
        cuda->staged_bytes = 0;
    return etx_cuda_check(error, "wait for the device");
}

static etx_status device_to_host(
    const struct etx_memory *memory, void *to, const void *from, size_t bytes)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);

    ETX_TRY(current.status);
    for (size_t done = 0; done < bytes; done += ETX_CUDA_STAGING) {
        const size_t n = smaller(bytes - done, ETX_CUDA_STAGING);
        char *staging = NULL;

        ETX_TRY(next_staging(&staging, cuda, n));
        ETX_CUDA(
            cudaMemcpyAsync(staging, static_cast<const char *>(from) + done, n,
                cudaMemcpyDeviceToHost, cuda->stream));
        ETX_TRY(wait(cuda));
        memcpy(static_cast<char *>(to) + done, staging, n);
    }
    return ETX_OK;
}

/* Work of the caller's stream is over before what this context queues next. A
 * stream that is not named is the legacy default stream, on which most programs
 * work: the context's own does not wait for it. */
static etx_status follow(struct etx_cuda *cuda, void *stream)
{
    ETX_CUDA(cudaEventRecord(cuda->done,
        stream != NULL ? static_cast<cudaStream_t>(stream) : cudaStreamLegacy));
    ETX_CUDA(cudaStreamWaitEvent(cuda->stream, cuda->done, 0));
    return ETX_OK;
}

static etx_status device_accept(const struct etx_memory *memory,
    const void *address, void *stream, const char *what)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);
    cudaPointerAttributes found = {};

    ETX_TRY(current.status);
    ETX_CUDA(cudaPointerGetAttributes(&found, address));
    if (found.type != cudaMemoryTypeDevice &&
        found.type != cudaMemoryTypeManaged)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s is in memory of the host, and not of device %d", what,
            cuda->index);
    if (found.device != cuda->index)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s is in memory of device %d, and the context on device %d", what,
            found.device, cuda->index);
    return follow(cuda, stream);
}

static etx_status device_synchronize(const struct etx_memory *memory)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);

    ETX_TRY(current.status);
    return wait(cuda);
}

static etx_status device_fetch(
    const int64_t **out, const struct etx_memory *memory, const int64_t *from)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);
    int64_t *const to = cuda->fetched + cuda->next_fetched;

    ETX_TRY(current.status);
    ETX_CUDA(cudaMemcpyAsync(
        to, from, sizeof *to, cudaMemcpyDeviceToHost, cuda->stream));
    cuda->next_fetched = (cuda->next_fetched + 1) % ETX_MAX_FETCHED;
    *out = to;
    return ETX_OK;
}

static etx_status device_mark(const struct etx_memory *memory, int32_t k)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);

    ETX_TRY(current.status);
    if (cuda->mark[k] == NULL)
        ETX_CUDA(
            cudaEventCreateWithFlags(&cuda->mark[k], cudaEventBlockingSync));
    return etx_cuda_check(
        cudaEventRecord(cuda->mark[k], cuda->stream), "mark of a time");
}

static double device_seconds(
    const struct etx_memory *memory, int32_t from, int32_t to)
{
    struct etx_cuda *cuda = owner(memory);
    const struct etx_cuda_current current(cuda);
    float milliseconds = 0.0f;

    if (cudaEventSynchronize(cuda->mark[to]) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, cuda->mark[from], cuda->mark[to]) !=
            cudaSuccess)
        (void)cudaGetLastError();
    return 1e-3 * (double)milliseconds;
}

static int64_t device_peak(const struct etx_memory *memory)
{
    return (int64_t)owner(memory)->peak;
}

static void device_reset_peak(const struct etx_memory *memory)
{
    owner(memory)->peak = owner(memory)->in_use;
}

void etx_cuda_open_memory(struct etx_cuda *cuda)
{
    cuda->memory.alloc = device_alloc;
    cuda->memory.free = device_free;
    cuda->memory.to_device = host_to_device;
    cuda->memory.to_host = device_to_host;
    cuda->memory.accept = device_accept;
    cuda->memory.synchronize = device_synchronize;
    cuda->memory.fetch = device_fetch;
    cuda->memory.mark = device_mark;
    cuda->memory.seconds = device_seconds;
    cuda->memory.peak = device_peak;
    cuda->memory.reset_peak = device_reset_peak;
    cuda->memory.device = cuda;
}

void etx_cuda_close_memory(struct etx_cuda *cuda)
{
    while (cuda->n_live > 0)
        device_free(&cuda->memory, cuda->live[cuda->n_live - 1].address);
}
