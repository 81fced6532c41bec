/* cuda_shim/memory.cpp -- devices, streams, events and memory.
 *
 * Work of a stream is queued and runs when the host waits for the stream, or
 * for an event after it: a host that reads too early, or writes too early what
 * is to be copied, shows. Device memory is filled with bytes that make floats
 * not numbers, also when it is freed, and has guard zones which are checked
 * then.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "cuda_runtime.h"
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#define DEVICE_BYTES ((size_t)16 << 30) /* of addresses */
#define PINNED_BYTES ((size_t)4 << 30)
#define HEAP_BYTES   (DEVICE_BYTES + PINNED_BYTES)
#define MAX_BYTES    ((size_t)2 << 30) /* what the devices have */
#define ALIGNMENT    SHIM_GRANULE
#define GUARD_BYTES  SHIM_GRANULE
#define UNSET        0xFF
#define GUARD        0xA5

/* What a stream is to do: entries n_done .. n_done + work.size() - 1. */
struct queue {
    std::deque<std::function<void()>> work;
    uint64_t n_done;
};

struct shim_stream {
    int device; /* that was current when it was made */
    std::shared_ptr<struct queue> queue = std::make_shared<struct queue>();
};
struct shim_event {
    int device;
    bool spins; /* a wait for it keeps a processor busy */
    bool is_timed;
    std::shared_ptr<double> time;        /* seconds, when it was reached last */
    std::shared_ptr<struct queue> queue; /* where it was recorded last */
    uint64_t end;                        /* entries before it */
};
struct shim_pool {
    int device;
    size_t n_live;
    size_t kept; /* free bytes stay in the pool up to this size */
    size_t held; /* bytes, in use or free */
    std::multiset<size_t> free; /* bytes of blocks */
};

struct piece {
    size_t bytes;           /* requested */
    struct shim_pool *pool; /* NULL: pinned */
};

static struct shim_heap heap_storage;
static char *heap;                            /* [HEAP_BYTES], devices first */
static std::map<char *, struct piece> pieces; /* by address, guards inside */
static std::set<char *> freed;  /* pieces that a stream will free */
static std::set<void *> others; /* streams, events, pools */
static std::set<struct shim_pool *> pools;
static size_t in_use, held;
static int64_t fails_at = -1;
static int64_t n_calls;
static struct shim_counts counts;
static int32_t is_closed;
static bool is_active[SHIM_DEVICES];
static thread_local cudaError_t last_error;
static thread_local int selected;            /* by cudaSetDevice */
static thread_local std::vector<int> pushed; /* devices of contexts */
static std::recursive_mutex turns;

shim_turn::shim_turn()
{
    turns.lock();
}

shim_turn::~shim_turn()
{
    turns.unlock();
}

void shim_abort(const char *what)
{
    fprintf(stderr, "cuda_shim: %s\n", what);
    abort();
}

void shim_fail_call(int64_t number)
{
    fails_at = number;
    n_calls = 0;
}

int64_t shim_calls(void)
{
    return n_calls;
}

struct shim_counts shim_count(void)
{
    return counts;
}

int64_t shim_live(void)
{
    return (int64_t)(pieces.size() - freed.size() + others.size());
}

/* ------------------------------------------------------------ protection -- */

static void open_heap(void)
{
    if (heap != NULL)
        return;
    void *const memory = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        shim_abort("no addresses for the memory of a device");
    heap = static_cast<char *>(memory);
    void *const granules =
        mmap(NULL, HEAP_BYTES / SHIM_GRANULE * sizeof(struct shim_granule),
            PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
            -1, 0);

    if (granules == MAP_FAILED)
        shim_abort("no addresses for the memory of a device");
    heap_storage = {
        heap, HEAP_BYTES, static_cast<struct shim_granule *>(granules)};
}

const struct shim_heap *shim_heap(void)
{
    open_heap();
    return &heap_storage;
}

static void protect(int how)
{
    if (mprotect(heap, DEVICE_BYTES, how) != 0)
        shim_abort("mprotect failed");
}

void shim_close_memory(int32_t close)
{
    open_heap();
    is_closed = close;
    protect(close ? PROT_NONE : PROT_READ | PROT_WRITE);
}

void shim_enter(void)
{
    if (is_closed)
        protect(PROT_READ | PROT_WRITE);
}

void shim_leave(void)
{
    if (is_closed)
        protect(PROT_NONE);
}

/* ---------------------------------------------------------------- errors -- */

/* What a call answers that has nothing against it but the test. */
static cudaError_t answer(cudaError_t failure)
{
    const shim_turn turn;

    if (n_calls++ != fails_at)
        return cudaSuccess;
    last_error = failure;
    return failure;
}

static cudaError_t fail(cudaError_t error)
{
    last_error = error;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
                                              : "cudaError";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "a failure";
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    last_error = cudaSuccess;
    return error;
}

/* --------------------------------------------------------------- devices -- */

int32_t shim_device(void)
{
    return pushed.empty() ? selected : pushed.back();
}

void shim_set_device(int32_t device)
{
    selected = device;
}

int32_t shim_is_active(int32_t device)
{
    return is_active[device];
}

static bool is_device(int device)
{
    return device >= 0 && device < SHIM_DEVICES;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = SHIM_DEVICES;
    return answer(cudaErrorLaunchFailure);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = shim_device();
    return answer(cudaErrorLaunchFailure);
}

/* A call that fails changes nothing. */
cudaError_t cudaSetDevice(int device)
{
    const cudaError_t error = is_device(device) ? answer(cudaErrorLaunchFailure)
                                                : fail(cudaErrorInvalidDevice);

    if (error == cudaSuccess) {
        (pushed.empty() ? selected : pushed.back()) = device;
        is_active[device] = true;
    }
    return error;
}

cudaError_t cudaDeviceGetAttribute(
    int *value, enum cudaDeviceAttr attribute, int device)
{
    *value = 9; /* of the capability */
    if (attribute == cudaDevAttrMultiProcessorCount)
        *value = 2;
    if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
        *value = (int)shim_shared_memory();
    return is_device(device) ? answer(cudaErrorLaunchFailure)
                             : fail(cudaErrorInvalidDevice);
}

/* ------------------------------------------------------------- contexts -- */

/* Of each device the primary one, and how often it is retained. */
struct shim_context {
    int n_retained;
};

static struct shim_context contexts[SHIM_DEVICES];

static CUresult answer_driver(void)
{
    return answer(cudaErrorLaunchFailure) == cudaSuccess
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_device(CUdevice *device, int index)
{
    *device = index;
    return is_device(index) ? answer_driver() : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult retain_context(CUcontext *context, CUdevice device)
{
    const CUresult result = answer_driver();
    const shim_turn turn;

    if (result != CUDA_SUCCESS)
        return result;
    *context = &contexts[device];
    contexts[device].n_retained++;
    is_active[device] = true;
    return CUDA_SUCCESS;
}

static CUresult release_context(CUdevice device)
{
    const shim_turn turn;

    if (contexts[device].n_retained-- == 0)
        shim_abort("a context released that was not retained");
    return CUDA_SUCCESS;
}

int32_t shim_retained(int32_t device)
{
    return contexts[device].n_retained;
}

static CUresult push_context(CUcontext context)
{
    const CUresult result = answer_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (context->n_retained == 0)
        shim_abort("a context pushed that is not retained");
    pushed.push_back((int)(context - contexts));
    return CUDA_SUCCESS;
}

static CUresult pop_context(CUcontext *context)
{
    if (pushed.empty())
        shim_abort("a context popped where there is none");
    *context = &contexts[pushed.back()];
    pushed.pop_back();
    return CUDA_SUCCESS;
}

static CUresult get_current(CUcontext *context)
{
    *context = pushed.empty() && !is_active[selected]
                   ? NULL
                   : &contexts[shim_device()];
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
    (pushed.empty() ? selected : pushed.back()) =
        context == NULL ? 0 : (int)(context - contexts);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function,
    unsigned, unsigned long long, enum cudaDriverEntryPointQueryResult *result)
{
    static const std::map<std::string, void *> functions = {
        {"cuDeviceGet", reinterpret_cast<void *>(get_device)},
        {"cuDevicePrimaryCtxRetain", reinterpret_cast<void *>(retain_context)},
        {"cuDevicePrimaryCtxRelease",
            reinterpret_cast<void *>(release_context)},
        {"cuCtxGetCurrent", reinterpret_cast<void *>(get_current)},
        {"cuCtxSetCurrent", reinterpret_cast<void *>(set_current)},
        {"cuCtxPushCurrent", reinterpret_cast<void *>(push_context)},
        {"cuCtxPopCurrent", reinterpret_cast<void *>(pop_context)}};
    const auto found = functions.find(name);

    *result = found == functions.end() ? cudaDriverEntryPointSymbolNotFound
                                       : cudaDriverEntryPointSuccess;
    if (found != functions.end())
        *function = found->second;
    return answer(cudaErrorLaunchFailure);
}

/* ------------------------------------------------------ streams and events --
 */

template <typename T> static cudaError_t make(T **out)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    if (error != cudaSuccess)
        return error;
    *out = new T();
    (*out)->device = shim_device();
    is_active[shim_device()] = true;
    others.insert(*out);
    return cudaSuccess;
}

template <typename T> static cudaError_t unmake(T *thing)
{
    const shim_turn turn;

    if (others.erase(thing) == 0)
        shim_abort("freed an object that does not exist");
    delete thing;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (flags != cudaStreamNonBlocking)
        shim_abort("a stream that waits for the default stream");
    return make(stream);
}

static int64_t n_queued; /* in all streams */

int64_t shim_queued(void)
{
    const shim_turn turn;

    return n_queued;
}

/* Run what is queued before entry `end`. Each entry may wait itself. */
static void finish(struct queue *queue, uint64_t end)
{
    const shim_turn turn;

    while (queue->n_done < end && !queue->work.empty()) {
        const std::function<void()> work = std::move(queue->work.front());

        queue->work.pop_front();
        n_queued--;
        queue->n_done++;
        work();
    }
}

void shim_queue(cudaStream_t stream, std::function<void()> work)
{
    const shim_turn turn;

    stream->queue->work.push_back(std::move(work));
    n_queued++;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    finish(stream->queue.get(), UINT64_MAX);
    return unmake(stream);
}

/* Of each device, for other libraries: this one waits for it and no more. */
static struct shim_stream legacy[SHIM_DEVICES];

static cudaStream_t legacy_of(int device)
{
    legacy[device].device = device;
    return &legacy[device];
}

/* The stream that a handle means on the current device. */
static cudaStream_t meant(cudaStream_t stream)
{
    return stream == cudaStreamLegacy ? legacy_of(shim_device()) : stream;
}

static void check_stream(cudaStream_t stream)
{
    if (stream == NULL)
        shim_abort("work on the default stream");
    if (stream->device != shim_device())
        shim_abort("work on a stream of a device that is not current");
}

/* The call as answered, counted when it does not fail. */
static cudaError_t counted(int64_t *count)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    *count += error == cudaSuccess;
    return error;
}

/* The pools free what they hold beyond what they keep: the largest first. */
static void trim_pools(void)
{
    const shim_turn turn;

    for (struct shim_pool *pool : pools)
        while (pool->held > pool->kept && !pool->free.empty()) {
            const auto largest = std::prev(pool->free.end());

            pool->held -= *largest;
            held -= *largest;
            pool->free.erase(largest);
        }
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device)
{
    *device = stream->device;
    return cudaSuccess;
}

static thread_local enum cudaStreamCaptureMode capture_mode;

cudaError_t cudaThreadExchangeStreamCaptureMode(
    enum cudaStreamCaptureMode *mode)
{
    std::swap(capture_mode, *mode);
    return cudaSuccess;
}

int32_t shim_capture_mode(void)
{
    return capture_mode;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    check_stream(stream);
    finish(stream->queue.get(), UINT64_MAX);
    trim_pools();
    counts.spins++;
    return counted(&counts.waits);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    check_stream(stream);
    finish(stream->queue.get(), UINT64_MAX);
    return shim_is_communicating(stream) ? fail(cudaErrorNotReady)
                                         : answer(cudaErrorLaunchFailure);
}

cudaError_t shim_begin(enum shim_work work, cudaStream_t stream)
{
    check_stream(stream);
    return counted(work == SHIM_KERNEL    ? &counts.kernels
                   : work == SHIM_PRODUCT ? &counts.products
                                          : &counts.sorts);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const cudaError_t error = make(event);

    if (error == cudaSuccess) {
        (*event)->spins = (flags & cudaEventBlockingSync) == 0;
        (*event)->is_timed = (flags & cudaEventDisableTiming) == 0;
    }
    return error;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return unmake(event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    stream = meant(stream);
    check_stream(stream);
    if (error != cudaSuccess)
        return error;
    if (event->is_timed) {
        event->time = std::make_shared<double>();
        shim_queue(stream, [time = event->time]() {
            *time = std::chrono::duration<double>(
                std::chrono::steady_clock::now().time_since_epoch())
                        .count();
        });
    }
    event->queue = stream->queue;
    event->end = stream->queue->n_done + stream->queue->work.size();
    return cudaSuccess;
}

static bool is_done(const struct shim_event *event)
{
    const shim_turn turn;

    return event->queue == NULL || event->queue->n_done >= event->end ||
           event->queue->work.empty();
}

/* Queued work is never done before the host waits for it. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return is_done(event) ? answer(cudaErrorLaunchFailure)
                          : fail(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(
    float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (!from->is_timed || !to->is_timed || from->queue == NULL ||
        to->queue == NULL)
        shim_abort("the time of an event that has none");
    if (!is_done(from) || !is_done(to))
        return fail(cudaErrorNotReady);
    *milliseconds = (float)(1e3 * (*to->time - *from->time));
    return answer(cudaErrorLaunchFailure);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (is_done(event))
        return answer(cudaErrorLaunchFailure);
    finish(event->queue.get(), event->end);
    trim_pools();
    counts.spins += event->spins;
    return counted(&counts.waits);
}

cudaError_t cudaStreamWaitEvent(
    cudaStream_t stream, cudaEvent_t event, unsigned)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    check_stream(stream);
    if (error != cudaSuccess)
        return error;
    shim_queue(stream, [queue = event->queue, end = event->end]() {
        if (queue != NULL)
            finish(queue.get(), end);
    });
    return cudaSuccess;
}

/* ---------------------------------------------------------------- memory -- */

cudaError_t cudaMemPoolCreate(
    cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    const cudaError_t error = make(pool);

    if (error == cudaSuccess) {
        (*pool)->device = properties->location.id;
        pools.insert(*pool);
    }
    return error;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (pool->n_live > 0)
        shim_abort("a pool destroyed with memory in use");
    held -= pool->held;
    pools.erase(pool);
    return unmake(pool);
}

cudaError_t cudaMemPoolSetAttribute(
    cudaMemPool_t pool, enum cudaMemPoolAttr, void *value)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);

    if (error == cudaSuccess)
        pool->kept = (size_t) * static_cast<const uint64_t *>(value);
    return error;
}

size_t shim_pool_bytes(void)
{
    return held;
}

/* The smallest free block that is large enough, less its rest, or new memory.
 */
static void hold(struct shim_pool *pool, size_t bytes)
{
    const auto block = pool->free.lower_bound(bytes);

    if (block == pool->free.end()) {
        pool->held += bytes;
        held += bytes;
        return;
    }
    if (*block > bytes)
        pool->free.insert(*block - bytes);
    pool->free.erase(block);
}

static size_t space_of(size_t bytes)
{
    return GUARD_BYTES + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT +
           GUARD_BYTES;
}

/* The first gap of the heap of this size, from begin to end. */
static char *find_gap(char *begin, const char *end, size_t space)
{
    char *at = begin;

    for (auto next = pieces.lower_bound(begin);
         next != pieces.end() && next->first < end; ++next) {
        if ((size_t)(next->first - at) >= space)
            return at;
        at = next->first + space_of(next->second.bytes);
    }
    return (size_t)(end - at) >= space ? at : NULL;
}

static size_t after(size_t bytes)
{
    return space_of(bytes) - GUARD_BYTES - bytes;
}

/* The granules of a piece belong to owner, or with 0 bytes to nobody. */
static void own(const char *memory, size_t space, size_t bytes, int owner)
{
    struct shim_granule *const granule =
        heap_storage.granule + (size_t)(memory - heap) / SHIM_GRANULE;

    for (size_t at = 0; at < space; at += SHIM_GRANULE) {
        const size_t left = bytes > at ? bytes - at : 0;

        granule[at / SHIM_GRANULE] = {
            (uint16_t)(left < SHIM_GRANULE ? left : SHIM_GRANULE),
            (uint8_t)owner};
    }
}

static void fill(char *start, size_t bytes)
{
    shim_enter();
    memset(start, GUARD, GUARD_BYTES);
    memset(start + GUARD_BYTES, UNSET, bytes);
    memset(start + GUARD_BYTES + bytes, GUARD, after(bytes));
    shim_leave();
}

/* A piece between begin and end of the heap; NULL: there is no gap. */
static char *make_piece(
    char *begin, const char *end, size_t bytes, struct shim_pool *pool)
{
    char *const start = find_gap(begin, end, space_of(bytes));

    if (start == NULL)
        return NULL;
    pieces[start] = {bytes, pool};
    own(start + GUARD_BYTES, bytes, bytes,
        pool != NULL ? pool->device : SHIM_PINNED);
    fill(start, bytes);
    return start + GUARD_BYTES;
}

cudaError_t cudaMallocFromPoolAsync(
    void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    const cudaError_t error = answer(cudaErrorMemoryAllocation);
    const shim_turn turn;

    check_stream(stream);
    if (pool->device != stream->device)
        shim_abort("memory of one device on a stream of another");
    if (error != cudaSuccess)
        return error;
    open_heap();
    if (bytes > MAX_BYTES || in_use > MAX_BYTES - bytes)
        return fail(cudaErrorMemoryAllocation);
    *memory = make_piece(heap, heap + DEVICE_BYTES, bytes, pool);
    if (*memory == NULL)
        return fail(cudaErrorMemoryAllocation);
    pool->n_live++;
    hold(pool, bytes);
    counts.allocations++;
    in_use += bytes;
    return cudaSuccess;
}

static void check_guard(const char *zone, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)zone[i] != GUARD)
            shim_abort("written outside an allocation of device memory");
}

/* The piece, its guard zones checked, belongs to nobody. */
static void free_piece(char *start)
{
    const size_t bytes = pieces.at(start).bytes;

    shim_enter();
    check_guard(start, GUARD_BYTES);
    check_guard(start + GUARD_BYTES + bytes, after(bytes));
    memset(start + GUARD_BYTES, UNSET, bytes);
    shim_leave();
    own(start + GUARD_BYTES, bytes, 0, 0);
    pieces.erase(start);
}

/* The piece at this address of the device or, with is_pinned, of the host. */
static char *find_piece(void *memory, bool is_pinned)
{
    const auto found = pieces.find(static_cast<char *>(memory) - GUARD_BYTES);

    if (found == pieces.end() || (found->second.pool == NULL) != is_pinned)
        shim_abort("freed memory that does not exist");
    return found->first;
}

/* Its bytes count as free from now on, its addresses once the stream is there.
 */
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    const shim_turn turn;
    char *const start = find_piece(memory, false);
    struct piece *const piece = &pieces.at(start);

    check_stream(stream);
    if (!freed.insert(start).second)
        shim_abort("freed memory that does not exist");
    piece->pool->n_live--;
    piece->pool->free.insert(piece->bytes);
    in_use -= piece->bytes;
    shim_queue(stream, [start]() {
        freed.erase(start);
        free_piece(start);
    });
    return cudaSuccess;
}

/* Queue work on memory of the device. */
static void queue_access(cudaStream_t stream, std::function<void()> work)
{
    shim_queue(stream, [work]() {
        shim_enter();
        work();
        shim_leave();
    });
}

static struct shim_pool borrowed[SHIM_DEVICES];
static struct shim_stream lender[SHIM_DEVICES];

void *shim_lender(int32_t device)
{
    lender[device].device = device;
    return &lender[device];
}

void shim_finish_lending(void)
{
    for (const struct shim_stream &stream : lender)
        finish(stream.queue.get(), UINT64_MAX);
    for (const struct shim_stream &stream : legacy)
        finish(stream.queue.get(), UINT64_MAX);
}

/* Memory in which the stream writes values. */
static void *lend(cudaStream_t stream, const void *values, size_t bytes)
{
    const char *const from = static_cast<const char *>(values);
    const shim_turn turn;
    struct shim_pool *const pool = &borrowed[stream->device];

    open_heap();
    pool->device = stream->device;
    char *const to = make_piece(heap, heap + DEVICE_BYTES, bytes, pool);

    if (to == NULL)
        shim_abort("no memory to lend");
    queue_access(
        stream, [to, copy = std::vector<char>(from, from + bytes)]() {
            memcpy(to, copy.data(), copy.size());
        });
    return to;
}

void *shim_lend(int32_t device, const void *values, size_t bytes)
{
    return lend(static_cast<cudaStream_t>(shim_lender(device)), values, bytes);
}

void *shim_lend_by_default(int32_t device, const void *values, size_t bytes)
{
    return lend(legacy_of(device), values, bytes);
}

void shim_reclaim(void *memory)
{
    const shim_turn turn;

    free_piece(find_piece(memory, false));
}

/* Without a pool; freed once the device has nothing more to do. */
static struct shim_pool plain[SHIM_DEVICES];

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    const cudaError_t error = answer(cudaErrorMemoryAllocation);
    const shim_turn turn;

    if (error != cudaSuccess)
        return error;
    open_heap();
    is_active[shim_device()] = true;
    plain[shim_device()].device = shim_device();
    *memory =
        make_piece(heap, heap + DEVICE_BYTES, bytes, &plain[shim_device()]);
    return *memory != NULL ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void *memory)
{
    const shim_turn turn;

    if (memory != NULL)
        free_piece(find_piece(memory, false));
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    const cudaError_t error = answer(cudaErrorMemoryAllocation);
    const shim_turn turn;

    if (error != cudaSuccess)
        return error;
    open_heap();
    is_active[shim_device()] = true;
    *memory = make_piece(heap + DEVICE_BYTES, heap + HEAP_BYTES, bytes, NULL);
    return *memory != NULL ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory)
{
    const shim_turn turn;

    if (memory != NULL)
        free_piece(find_piece(memory, true));
    return cudaSuccess;
}

/* Whether all of these bytes are one piece's. */
static bool is_inside(const void *memory, size_t bytes)
{
    const char *const at = static_cast<const char *>(memory);
    auto next = pieces.upper_bound(const_cast<char *>(at));

    if (next == pieces.begin())
        return false;
    const auto piece = std::prev(next);
    const char *const begin = piece->first + GUARD_BYTES;

    return at >= begin && at + bytes <= begin + piece->second.bytes &&
           freed.count(piece->first) == 0;
}

void shim_check_reach(const void *memory, size_t bytes)
{
    const shim_turn turn;

    if (bytes > 0 && !is_inside(memory, bytes))
        shim_abort("a library is told to work on memory of the host");
}

cudaError_t cudaPointerGetAttributes(
    struct cudaPointerAttributes *attributes, const void *memory)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    *attributes = {cudaMemoryTypeUnregistered, -1};
    if (error != cudaSuccess || !is_inside(memory, 1))
        return error;
    const struct piece &piece =
        std::prev(pieces.upper_bound(
                      const_cast<char *>(static_cast<const char *>(memory))))
            ->second;

    *attributes =
        piece.pool == NULL
            ? cudaPointerAttributes{cudaMemoryTypeHost, 0}
            : cudaPointerAttributes{cudaMemoryTypeDevice, piece.pool->device};
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    stream = meant(stream);
    check_stream(stream);
    if (!is_inside(kind == cudaMemcpyHostToDevice ? to : from, bytes))
        shim_abort("a copy beyond a piece of device memory");
    if (error != cudaSuccess)
        return error;
    (kind == cudaMemcpyHostToDevice ? counts.copies_in : counts.copies_out)++;
    (kind == cudaMemcpyHostToDevice ? counts.bytes_in : counts.bytes_out) +=
        (int64_t)bytes;
    queue_access(stream, [=]() { memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(
    void *memory, int value, size_t bytes, cudaStream_t stream)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    check_stream(stream);
    if (!is_inside(memory, bytes))
        shim_abort("memory set beyond a piece of the device's");
    if (error != cudaSuccess)
        return error;
    counts.sets++;
    queue_access(stream, [=]() { memset(memory, value, bytes); });
    return cudaSuccess;
}
