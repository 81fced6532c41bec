/* memory/event_cache.h -- arrays of one event that several stages read.
 *
 * Positions and cells on a device and node features are there once per event,
 * found until the cache is cleared. The arrays are scratch of the context; the
 * cache has only their addresses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_MEMORY_EVENT_CACHE_H
#define ETX_MEMORY_EVENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define ETX_MAX_EVENT_ARRAYS 11 /* and each feature of cells */

/* Zeroed: empty. Keys are compared by content, key_bytes 0 by address; they
 * must live as long as the entry. */
struct etx_event_cache {
    int32_t n;
    struct {
        const void *key;
        size_t key_bytes;
        const float *value;
    } entry[ETX_MAX_EVENT_ARRAYS];
};

/* NULL: there is none. */
const float *etx_event_cache_find(
    const struct etx_event_cache *cache, const void *key, size_t key_bytes);
/* Nothing happens when the cache is full. */
void etx_event_cache_insert(struct etx_event_cache *cache, const void *key,
    size_t key_bytes, const float *value);
void etx_event_cache_clear(struct etx_event_cache *cache);

#endif
