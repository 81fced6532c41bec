/* base/heap.h -- long-lived allocations and checked sizes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_HEAP_H
#define ETX_BASE_HEAP_H

#include <exatrkx/exatrkx.h>

/* *out = a * b (or a + b); ETX_ERR_ARGUMENT naming what on overflow. */
etx_status etx_size_mul(size_t *out, size_t a, size_t b, const char *what);
etx_status etx_size_add(size_t *out, size_t a, size_t b, const char *what);

/* count * size zeroed bytes from the allocator hook, 64-byte aligned; what
 * names them in the message. count 0 gives a non-NULL pointer. A negative
 * count is ETX_ERR_ARGUMENT, no memory ETX_ERR_MEMORY. */
etx_status etx_alloc(
    void *out_pointer, int64_t count, size_t size, const char *what);

/* The same without clearing the bytes: for large arrays that the caller
 * overwrites immediately. */
etx_status etx_alloc_uncleared(
    void *out_pointer, int64_t count, size_t size, const char *what);

/* A copy of source [count] elements of size bytes. */
etx_status etx_alloc_copy(void *out_pointer, const void *source, int64_t count,
    size_t size, const char *what);

/* Grow or shrink *pointer (NULL: allocate) from old_count to count elements;
 * the kept elements move along. On failure *pointer is untouched. */
etx_status etx_resize(void *pointer, int64_t old_count, int64_t count,
    size_t size, const char *what);

/* Release what etx_alloc gave; NULL is fine. */
void etx_free(void *memory);

/* Bytes that this process holds through etx_alloc, and their highest value
 * since etx_heap_reset_peak; counted atomically. */
int64_t etx_heap_in_use(void);
int64_t etx_heap_peak(void);
void etx_heap_reset_peak(void);

#endif
