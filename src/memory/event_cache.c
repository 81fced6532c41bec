/* memory/event_cache.c -- arrays of one event that several stages read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/event_cache.h"

#include <string.h>

const float *etx_event_cache_find(
    const struct etx_event_cache *cache, const void *key, size_t key_bytes)
{
    for (int32_t k = 0; k < cache->n; k++) {
        if (cache->entry[k].key_bytes != key_bytes)
            continue;
        if (cache->entry[k].key == key ||
            (key_bytes > 0 && memcmp(cache->entry[k].key, key, key_bytes) == 0))
            return cache->entry[k].value;
    }
    return NULL;
}

void etx_event_cache_insert(struct etx_event_cache *cache, const void *key,
    size_t key_bytes, const float *value)
{
    if (cache->n == ETX_MAX_EVENT_ARRAYS)
        return;
    cache->entry[cache->n].key = key;
    cache->entry[cache->n].key_bytes = key_bytes;
    cache->entry[cache->n++].value = value;
}

void etx_event_cache_clear(struct etx_event_cache *cache)
{
    cache->n = 0;
}
