/* io/id_index.c -- from an id in a file to its row.
 *
 * Hit ids run nearly without gaps: a table has them all. Particle ids are 64
 * bits of which most patterns are never used: they are sorted. Hashing would
 * let a file choose its collisions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/id_index.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/sort.h"

#include <string.h>

/* A dense table may have this many slots for an id, and some for free. */
#define SLOTS_PER_ID 8
#define FREE_SLOTS   1024

/* The difference of the largest and the smallest id; sets the latter. */
static uint64_t id_range(int64_t *first, const int64_t *ids, int64_t n_ids)
{
    int64_t low = n_ids > 0 ? ids[0] : 0;
    int64_t high = low;

    for (int64_t row = 1; row < n_ids; row++) {
        low = ids[row] < low ? ids[row] : low;
        high = ids[row] > high ? ids[row] : high;
    }
    *first = low;
    return (uint64_t)high - (uint64_t)low;
}

static etx_status build_dense(struct etx_id_index *index, int64_t *duplicate,
    const int64_t *ids, int64_t n_ids)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(&index->slot, (int64_t)index->n_slots,
        sizeof *index->slot, "an index of ids"));
    for (int64_t row = 0; row < n_ids; row++) {
        int64_t *slot =
            &index->slot[(uint64_t)ids[row] - (uint64_t)index->first];
        if (*slot != 0 && *duplicate < 0)
            *duplicate = row;
        *slot = row + 1;
    }
done:
    return status;
}

static etx_status build_sorted(struct etx_id_index *index, int64_t *duplicate,
    const int64_t *ids, int64_t n_ids)
{
    int32_t *order = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc(&order, n_ids, sizeof *order, "an index of ids"));
    ETX_CHECK(etx_alloc(
        &index->sorted, n_ids, sizeof *index->sorted, "an index of ids"));
    ETX_CHECK(etx_sort_order(order, ids, n_ids));
    for (int64_t i = 0; i < n_ids; i++) {
        const int32_t row = order[i];
        index->sorted[i] = (struct etx_id_row){ids[row], row};
        if (i > 0 && ids[row] == ids[order[i - 1]] &&
            (*duplicate < 0 || row < *duplicate))
            *duplicate = row;
    }
done:
    etx_release(order);
    return status;
}

etx_status etx_id_index_build(struct etx_id_index *out, int64_t *duplicate,
    const int64_t *ids, int64_t n_ids)
{
    struct etx_id_index index;
    int64_t found = -1;
    etx_status status = ETX_OK;

    memset(&index, 0, sizeof index);
    index.n_ids = n_ids;
    const uint64_t range = id_range(&index.first, ids, n_ids);
    if (range < (uint64_t)n_ids * SLOTS_PER_ID + FREE_SLOTS) {
        index.n_slots = range + 1;
        ETX_CHECK(build_dense(&index, &found, ids, n_ids));
    } else {
        ETX_CHECK(build_sorted(&index, &found, ids, n_ids));
    }
    *out = index;
    *duplicate = found;
    memset(&index, 0, sizeof index);
done:
    etx_id_index_release(&index);
    return status;
}

void etx_id_index_release(struct etx_id_index *index)
{
    etx_release(index->slot);
    etx_release(index->sorted);
    memset(index, 0, sizeof *index);
}

int64_t etx_id_index_find(const struct etx_id_index *index, int64_t id)
{
    int64_t low = 0;
    int64_t high = index->n_ids;

    if (index->slot != NULL) {
        const uint64_t place = (uint64_t)id - (uint64_t)index->first;
        return place < index->n_slots ? index->slot[place] - 1 : -1;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (index->sorted[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->n_ids || index->sorted[low].id != id)
        return -1;
    return index->sorted[low].row;
}
