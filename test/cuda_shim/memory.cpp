/* cuda_shim/memory.cpp -- devices, streams, events and memory.
 *
 * Device memory is filled with bytes that make floats not numbers, also
 * when it is freed, and has guard zones which are checked then.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_runtime.h"
#include "shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <iterator>
#include <map>
#include <mutex>
#include <set>

#define N_DEVICES   2
#define HEAP_BYTES  ((size_t)16 << 30) /* of addresses; memory as it is used */
#define MAX_BYTES  ((size_t)2 << 30)  /* what the device has */
#define ALIGNMENT   ((size_t)256)
#define GUARD_BYTES ((size_t)256)
#define UNSET       0xFF
#define GUARD       0xA5

struct shim_stream {
    int device; /* that was current when it was made */
};
struct shim_event {
    int device;
};
struct shim_pool {
    int device;
    size_t n_live;
};

struct piece {
    size_t bytes; /* requested */
    struct shim_pool *pool;
};

static char *heap;
static std::map<char *, struct piece> pieces; /* by address, guards inside */
static std::set<void *> others;               /* streams, events, pinned */
static size_t in_use;
static int64_t fails_at = -1;
static int64_t n_calls;
static struct shim_counts counts;
static int32_t is_closed;
static thread_local cudaError_t last_error;
static thread_local int current;
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
    return (int64_t)(pieces.size() + others.size());
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
}

static void protect(int how)
{
    if (mprotect(heap, HEAP_BYTES, how) != 0)
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
    return current;
}

void shim_set_device(int32_t device)
{
    current = device;
}

static bool is_device(int device)
{
    return device >= 0 && device < N_DEVICES;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = N_DEVICES;
    return answer(cudaErrorLaunchFailure);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current;
    return answer(cudaErrorLaunchFailure);
}

/* A call that fails changes nothing. */
cudaError_t cudaSetDevice(int device)
{
    const cudaError_t error = is_device(device)
                                  ? answer(cudaErrorLaunchFailure)
                                  : fail(cudaErrorInvalidDevice);

    if (error == cudaSuccess)
        current = device;
    return error;
}

cudaError_t cudaDeviceGetAttribute(
    int *value, enum cudaDeviceAttr attribute, int device)
{
    *value = 9; /* of the capability */
    if (attribute == cudaDevAttrMultiProcessorCount)
        *value = 2;
    if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin)
        *value = SHIM_SHARED_BYTES;
    return is_device(device) ? answer(cudaErrorLaunchFailure)
                             : fail(cudaErrorInvalidDevice);
}

/* ------------------------------------------------------ streams and events -- */

template <typename T> static cudaError_t make(T **out)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    if (error != cudaSuccess)
        return error;
    *out = new T();
    (*out)->device = current;
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

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return unmake(stream);
}

static void check_stream(cudaStream_t stream)
{
    if (stream == NULL)
        shim_abort("work on the default stream");
    if (stream->device != current)
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

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    check_stream(stream);
    return counted(&counts.waits);
}

cudaError_t shim_begin(enum shim_work work, cudaStream_t stream)
{
    check_stream(stream);
    return counted(work == SHIM_KERNEL    ? &counts.kernels
                   : work == SHIM_PRODUCT ? &counts.products
                                          : &counts.sorts);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
    return make(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return unmake(event);
}

cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t stream)
{
    check_stream(stream);
    return answer(cudaErrorLaunchFailure);
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return answer(cudaErrorLaunchFailure);
}

/* ---------------------------------------------------------------- memory -- */

cudaError_t cudaMemPoolCreate(
    cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
    const cudaError_t error = make(pool);

    if (error == cudaSuccess)
        (*pool)->device = properties->location.id;
    return error;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (pool->n_live > 0)
        shim_abort("a pool destroyed with memory in use");
    return unmake(pool);
}

cudaError_t cudaMemPoolSetAttribute(
    cudaMemPool_t, enum cudaMemPoolAttr, void *)
{
    return answer(cudaErrorLaunchFailure);
}

static size_t space_of(size_t bytes)
{
    return GUARD_BYTES + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT +
           GUARD_BYTES;
}

/* The first gap of the heap of this size. */
static char *find_gap(size_t space)
{
    char *at = heap;

    for (const auto &piece : pieces) {
        if ((size_t)(piece.first - at) >= space)
            return at;
        at = piece.first + space_of(piece.second.bytes);
    }
    return (size_t)(heap + HEAP_BYTES - at) >= space ? at : NULL;
}

static size_t behind(size_t bytes)
{
    return space_of(bytes) - GUARD_BYTES - bytes;
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
    char *const start = find_gap(space_of(bytes));

    if (start == NULL || bytes > MAX_BYTES || in_use > MAX_BYTES - bytes)
        return fail(cudaErrorMemoryAllocation);
    shim_enter();
    memset(start, GUARD, GUARD_BYTES);
    memset(start + GUARD_BYTES, UNSET, bytes);
    memset(start + GUARD_BYTES + bytes, GUARD, behind(bytes));
    shim_leave();
    pieces[start] = {bytes, pool};
    pool->n_live++;
    counts.allocations++;
    in_use += bytes;
    *memory = start + GUARD_BYTES;
    return cudaSuccess;
}

static void check_guard(const char *zone, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)zone[i] != GUARD)
            shim_abort("written outside an allocation of device memory");
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    const shim_turn turn;
    const auto found = pieces.find(static_cast<char *>(memory) - GUARD_BYTES);

    check_stream(stream);
    if (found == pieces.end())
        shim_abort("freed memory that does not exist");
    const size_t bytes = found->second.bytes;

    shim_enter();
    check_guard(found->first, GUARD_BYTES);
    check_guard(found->first + GUARD_BYTES + bytes, behind(bytes));
    memset(memory, UNSET, bytes);
    shim_leave();
    found->second.pool->n_live--;
    in_use -= bytes;
    pieces.erase(found);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    const cudaError_t error = answer(cudaErrorMemoryAllocation);
    const shim_turn turn;

    if (error != cudaSuccess)
        return error;
    *memory = malloc(bytes);
    if (*memory == NULL)
        return fail(cudaErrorMemoryAllocation);
    others.insert(*memory);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory)
{
    const shim_turn turn;

    if (memory != NULL && others.erase(memory) == 0)
        shim_abort("freed pinned memory that does not exist");
    free(memory);
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

    return at >= begin && at + bytes <= begin + piece->second.bytes;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
    enum cudaMemcpyKind kind, cudaStream_t stream)
{
    const cudaError_t error = answer(cudaErrorLaunchFailure);
    const shim_turn turn;

    check_stream(stream);
    if (!is_inside(kind == cudaMemcpyHostToDevice ? to : from, bytes))
        shim_abort("a copy beyond a piece of device memory");
    if (error != cudaSuccess)
        return error;
    (kind == cudaMemcpyHostToDevice ? counts.copies_in : counts.copies_out)++;
    (kind == cudaMemcpyHostToDevice ? counts.bytes_in : counts.bytes_out) +=
        (int64_t)bytes;
    shim_enter();
    memcpy(to, from, bytes);
    shim_leave();
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
    shim_enter();
    memset(memory, value, bytes);
    shim_leave();
    return cudaSuccess;
}
