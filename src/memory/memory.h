/* memory/memory.h -- memory spaces: the host's, or that of a device.
 *
 * A struct etx_memory is the set of functions of one device's memory. NULL is
 * the host: etx_alloc, etx_free and memcpy. Work on a device is queued in
 * order, so memory may be freed while queued work still reads it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_MEMORY_MEMORY_H
#define ETX_MEMORY_MEMORY_H

#include <exatrkx/exatrkx.h>

#define ETX_MAX_MARKS   32
#define ETX_MAX_FETCHED 64

struct etx_memory {
    /* bytes > 0, not cleared, aligned to 256 bytes. */
    etx_status (*alloc)(void **out, const struct etx_memory *memory,
        size_t bytes, const char *what);
    void (*free)(const struct etx_memory *memory, void *address);
    /* Copies. After to_device returns, `from` may be overwritten; after to_host
     * returns, `to` is filled. */
    etx_status (*to_device)(const struct etx_memory *memory, void *to,
        const void *from, size_t bytes);
    etx_status (*to_host)(const struct etx_memory *memory, void *to,
        const void *from, size_t bytes);
    /* ETX_ERR_ARGUMENT unless address is in memory of the device. Work queued
     * from now on comes after what is queued on stream, or NULL. what names the
     * array. */
    etx_status (*accept)(const struct etx_memory *memory, const void *address,
        void *stream, const char *what);
    /* Wait for all queued work; reports failures that only show then. */
    etx_status (*synchronize)(const struct etx_memory *memory);
    /* See etx_memory_fetch. */
    etx_status (*fetch)(const int64_t **out, const struct etx_memory *memory,
        const int64_t *from);
    /* Note the time when the work queued so far is done, as mark k of
     * ETX_MAX_MARKS; seconds from one mark to another, for which it waits, 0
     * after a failure. */
    etx_status (*mark)(const struct etx_memory *memory, int32_t k);
    double (*seconds)(
        const struct etx_memory *memory, int32_t from, int32_t to);
    /* Most bytes allocated at the same time since the last reset. */
    int64_t (*peak)(const struct etx_memory *memory);
    void (*reset_peak)(const struct etx_memory *memory);
    void *device; /* owned by the backend */
};

/* *out_pointer [count] elements of size bytes, not cleared; zero elements get
 * a distinct pointer. */
etx_status etx_memory_alloc(void *out_pointer, const struct etx_memory *memory,
    int64_t count, size_t size, const char *what);
/* address NULL: nothing. */
void etx_memory_free(const struct etx_memory *memory, void *address);

/* Copy count elements of size bytes from the host to memory, and back. */
etx_status etx_memory_to_device(const struct etx_memory *memory, void *to,
    const void *from, int64_t count, size_t size);
etx_status etx_memory_to_host(const struct etx_memory *memory, void *to,
    const void *from, int64_t count, size_t size);

etx_status etx_memory_synchronize(const struct etx_memory *memory);

/* A number in memory, for the host, which need not wait for it alone: **out is
 * it once the host has waited for anything queued later, and until
 * ETX_MAX_FETCHED more are fetched. Of the host: *out is from. */
etx_status etx_memory_fetch(
    const int64_t **out, const struct etx_memory *memory, const int64_t *from);

/* Most bytes in use since the last reset, in this memory space. */
int64_t etx_memory_peak(const struct etx_memory *memory);
void etx_memory_reset_peak(const struct etx_memory *memory);

#endif
