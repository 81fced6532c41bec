/* base/heap.c -- long-lived allocations and checked sizes.
 *
 * Every block carries in front of it who gave it, so that it goes back to the
 * same allocator even when the host replaced the hook in between.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise */
#include "base/heap.h"

#include "base/poison.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT  64
#define LARGE_PAGE ((size_t)2 << 20)

typedef void *(*allocate_function)(size_t size, void *user);
typedef void (*release_function)(void *memory, void *user);

/* In front of every block. */
struct header {
    void *start; /* what the allocator returned */
    size_t total;
    size_t size; /* of the block, as requested */
    release_function release;
    void *user;
};

/* The hook is the one setting that the interface makes process-wide; it is
 * written before any other call. NULL stands for malloc and free. */
static struct {
    allocate_function allocate;
    release_function release;
    void *user;
} hook;

static _Atomic int64_t bytes_in_use;
static _Atomic int64_t bytes_peak;

etx_status etx_set_allocator(void *(*allocate)(size_t size, void *user),
    void (*release)(void *memory, void *user), void *user)
{
    if ((allocate == NULL) != (release == NULL))
        return etx_fail(ETX_ERR_ARGUMENT,
            "allocator: %s is NULL and %s is not: set both or neither",
            allocate == NULL ? "allocate" : "release",
            allocate == NULL ? "release" : "allocate");
    hook.allocate = allocate;
    hook.release = release;
    hook.user = user;
    return ETX_OK;
}

etx_status etx_size_mul(size_t *out, size_t a, size_t b, const char *what)
{
    size_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %zu times %zu bytes is more than memory can address", what, a,
            b);
    *out = product;
    return ETX_OK;
}

etx_status etx_size_add(size_t *out, size_t a, size_t b, const char *what)
{
    size_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %zu and %zu bytes are more than memory can address", what, a,
            b);
    *out = sum;
    return ETX_OK;
}

static void count_bytes(int64_t change)
{
    const int64_t now =
        atomic_fetch_add_explicit(&bytes_in_use, change, memory_order_relaxed) +
        change;
    int64_t peak = atomic_load_explicit(&bytes_peak, memory_order_relaxed);

    while (
        now > peak && !atomic_compare_exchange_weak_explicit(&bytes_peak, &peak,
                          now, memory_order_relaxed, memory_order_relaxed))
        continue;
}

static struct header *header_of(void *memory)
{
    return (struct header *)(void *)((char *)memory - sizeof(struct header));
}

/* Transparent huge pages for large blocks: arrays of edges are tens of
 * megabytes, and their page faults cost as much time as filling them. A
 * refusal by the kernel does no harm. */
static void advise_huge_pages(char *start, size_t size)
{
#ifdef MADV_HUGEPAGE
    const size_t before = LARGE_PAGE - (uintptr_t)start % LARGE_PAGE;

    if (start != NULL && size >= 4 * LARGE_PAGE)
        (void)madvise(start + before, (size - before) / LARGE_PAGE * LARGE_PAGE,
            MADV_HUGEPAGE);
#else
    (void)start;
    (void)size;
#endif
}

/* Without a hook calloc is used: the kernel clears the pages of large blocks
 * when they are first touched. */
static void *allocate(size_t size, bool is_cleared)
{
    void *memory;

    if (hook.allocate == NULL) {
        memory = is_cleared ? calloc(1, size) : malloc(size);
        advise_huge_pages(memory, size);
        return memory;
    }
    memory = hook.allocate(size, hook.user);
    if (memory != NULL && is_cleared)
        memset(memory, 0, size);
    return memory;
}

/* An aligned block of size bytes, or NULL. */
static void *new_block(size_t size, bool is_cleared)
{
    const size_t extra = sizeof(struct header) + ALIGNMENT;

    if (size > (size_t)PTRDIFF_MAX - extra)
        return NULL;

    char *start = allocate(size + extra, is_cleared);
    if (start == NULL)
        return NULL;

    const size_t lowest = (size_t)(uintptr_t)start + sizeof(struct header);
    const size_t shift = (ALIGNMENT - lowest % ALIGNMENT) % ALIGNMENT;
    char *memory = start + sizeof(struct header) + shift;

    *header_of(memory) = (struct header){
        .start = start,
        .total = size + extra,
        .size = size,
        .release = hook.release,
        .user = hook.user,
    };
    count_bytes((int64_t)size);
    etx_poison(start, (size_t)(memory - start));
    etx_poison(memory + size, extra - sizeof(struct header) - shift);
    return memory;
}

/* The elements of etx_alloc, or NULL and the reason in *status. */
static void *new_elements(etx_status *status, int64_t count, size_t size,
    const char *what, bool is_cleared)
{
    size_t bytes = 0;
    void *memory = NULL;

    if (count < 0) {
        *status = etx_fail(
            ETX_ERR_ARGUMENT, "%s: count %" PRId64 " is negative", what, count);
        return NULL;
    }
    *status = etx_size_mul(&bytes, (size_t)count, size, what);
    if (*status != ETX_OK)
        return NULL;
    memory = new_block(bytes, is_cleared);
    if (memory == NULL)
        *status = etx_fail(
            ETX_ERR_MEMORY, "%s: no memory for %zu bytes", what, bytes);
    return memory;
}

etx_status etx_alloc(
    void *out_pointer, int64_t count, size_t size, const char *what)
{
    etx_status status = ETX_OK;
    void *memory = new_elements(&status, count, size, what, true);

    if (memory != NULL)
        memcpy(out_pointer, &memory, sizeof memory);
    return status;
}

etx_status etx_alloc_uncleared(
    void *out_pointer, int64_t count, size_t size, const char *what)
{
    etx_status status = ETX_OK;
    void *memory = new_elements(&status, count, size, what, false);

    if (memory != NULL)
        memcpy(out_pointer, &memory, sizeof memory);
    return status;
}

etx_status etx_alloc_copy(void *out_pointer, const void *source, int64_t count,
    size_t size, const char *what)
{
    etx_status status = ETX_OK;
    void *memory = new_elements(&status, count, size, what, false);

    if (memory == NULL)
        return status;
    if (count > 0)
        memcpy(memory, source, (size_t)count * size);
    memcpy(out_pointer, &memory, sizeof memory);
    return ETX_OK;
}

etx_status etx_resize(void *pointer, int64_t old_count, int64_t count,
    size_t size, const char *what)
{
    etx_status status = ETX_OK;
    void *old = NULL;
    void *new = new_elements(&status, count, size, what, true);
    const int64_t kept = old_count < count ? old_count : count;

    if (new == NULL)
        return status;
    memcpy(&old, pointer, sizeof old);
    if (old != NULL && kept > 0)
        memcpy(new, old, (size_t)kept * size);
    memcpy(pointer, &new, sizeof new);
    etx_free(old);
    return ETX_OK;
}

void etx_free(void *memory)
{
    if (memory == NULL)
        return;

    char *unpoisoned = (char *)memory - sizeof(struct header);
    etx_unpoison(unpoisoned, sizeof(struct header));
    const struct header header = *header_of(memory);

    etx_unpoison(header.start, header.total);
    count_bytes(-(int64_t)header.size);
    if (header.release == NULL)
        free(header.start);
    else
        header.release(header.start, header.user);
}

int64_t etx_heap_in_use(void)
{
    return atomic_load_explicit(&bytes_in_use, memory_order_relaxed);
}

int64_t etx_heap_peak(void)
{
    return atomic_load_explicit(&bytes_peak, memory_order_relaxed);
}

void etx_heap_reset_peak(void)
{
    atomic_store_explicit(&bytes_peak, etx_heap_in_use(), memory_order_relaxed);
}
