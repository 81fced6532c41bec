/* data/crowds.c -- modules with far more hits than others of their layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/crowds.h"

#include "base/check.h"
#include "base/sort.h"

#include <string.h>

#define BUCKETS 16384 /* of modules, for a first look */

/* Hits of one module are next to each other in this order, and the ones of a
 * layer, where volumes and layers have 16 bits; otherwise a crowd may go
 * unseen. */
static uint64_t module_key(const struct etx_event *event, int64_t hit)
{
    const uint64_t volume = (uint16_t)event->volume_id[hit];
    const uint64_t layer = (uint16_t)event->layer_id[hit];

    return volume << 48 | layer << 32 | (uint32_t)event->module_id[hit];
}

/* Whether any module can have ETX_CROWD hits: the modules that share a bucket
 * are counted together. */
static etx_status may_have_crowds(
    bool *out, struct etx_arena *arena, const struct etx_event *event)
{
    int32_t *count = NULL;
    etx_status status;

    *out = false;
    ETX_SCRATCH(count, arena, BUCKETS, "hits of modules");
    memset(count, 0, BUCKETS * sizeof *count);
    for (int64_t i = 0; i < event->n_hits; i++) {
        const uint64_t key = module_key(event, i);
        const uint64_t bucket = (key ^ key >> 32) * 2654435761u % BUCKETS;

        *out |= ++count[bucket] >= ETX_CROWD;
    }
done:
    return status;
}

/* Where what begins here ends: the hits of a layer, or of a module. */
static int64_t end_of(const struct etx_event *event, const int32_t *order,
    int64_t begin, int64_t n, bool of_module)
{
    const int32_t first = order[begin];
    int64_t end = begin + 1;

    for (; end < n; end++) {
        const int32_t hit = order[end];

        if (event->volume_id[hit] != event->volume_id[first] ||
            event->layer_id[hit] != event->layer_id[first] ||
            (of_module && event->module_id[hit] != event->module_id[first]))
            break;
    }
    return end;
}

/* Of the layer that is begin .. n - 1. */
static void mark_crowds(uint8_t *is_crowded, const struct etx_event *event,
    const int32_t *order, int64_t begin, int64_t n)
{
    int64_t n_modules = 0;

    for (int64_t k = begin; k < n; k = end_of(event, order, k, n, true))
        n_modules++;
    for (int64_t k = begin, end; k < n; k = end) {
        end = end_of(event, order, k, n, true);
        if (etx_is_crowd(end - k, n - begin, n_modules))
            for (int64_t i = k; i < end; i++)
                is_crowded[order[i]] = 1;
    }
}

etx_status etx_event_find_crowds(
    uint8_t *is_crowded, struct etx_arena *arena, const struct etx_event *event)
{
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n = event->n_hits;
    int64_t *key = NULL;
    int32_t *order = NULL;
    bool has_crowds;
    etx_status status;

    memset(is_crowded, 0, (size_t)n);
    ETX_CHECK(may_have_crowds(&has_crowds, arena, event));
    if (!has_crowds)
        goto done;
    ETX_SCRATCH(key, arena, n, "modules of hits");
    ETX_SCRATCH(order, arena, n, "modules of hits");
    for (int64_t i = 0; i < n; i++)
        key[i] = (int64_t)module_key(event, i);
    ETX_CHECK(etx_sort_order(order, key, n));
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = end_of(event, order, begin, n, false);
        mark_crowds(is_crowded, event, order, begin, end);
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}
