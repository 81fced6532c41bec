/* base/place.h -- where arrays live: the host, or the memory of a device.
 *
 * A place is what a device's memory can do. NULL is the host: etx_alloc,
 * etx_release and memcpy. Work on a device is queued in order, so memory may
 * be given back while queued work still reads it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_PLACE_H
#define ETX_BASE_PLACE_H

#include <exatrkx/exatrkx.h>

struct etx_place {
    /* bytes > 0, not cleared, aligned to 256 bytes. */
    etx_status (*take)(void **out, const struct etx_place *place, size_t bytes,
        const char *what);
    void (*give)(const struct etx_place *place, void *memory);
    /* Copies; `from` of put may be reused at once, `to` of get is filled. */
    etx_status (*put)(const struct etx_place *place, void *to,
        const void *from, size_t bytes);
    etx_status (*get)(const struct etx_place *place, void *to,
        const void *from, size_t bytes);
    /* What lies in this memory, once an operator read it, will not change until
     * it is given back: what operators make of it may be kept. */
    void (*settle)(const struct etx_place *place, void *memory);
    /* Wait for everything that is queued; failures that only show now. */
    etx_status (*finish)(const struct etx_place *place);
    /* Most bytes taken at once since the last reset. */
    int64_t (*peak)(const struct etx_place *place);
    void (*reset_peak)(const struct etx_place *place);
    void *device; /* the backend's own */
};

/* *out_pointer [count] elements of size bytes, not cleared; zero elements get
 * a distinct pointer. */
etx_status etx_place_alloc(void *out_pointer, const struct etx_place *place,
    int64_t count, size_t size, const char *what);
void etx_place_release(const struct etx_place *place, void *memory);

/* count elements of size bytes from the host to the place, and back. */
etx_status etx_place_put(const struct etx_place *place, void *to,
    const void *from, int64_t count, size_t size);
etx_status etx_place_get(const struct etx_place *place, void *to,
    const void *from, int64_t count, size_t size);

/* See etx_place.settle; nothing to do on the host. */
void etx_place_settle(const struct etx_place *place, void *memory);

etx_status etx_place_finish(const struct etx_place *place);

/* Most bytes in use since the last reset, of this place. */
int64_t etx_place_peak(const struct etx_place *place);
void etx_place_reset_peak(const struct etx_place *place);

#endif
