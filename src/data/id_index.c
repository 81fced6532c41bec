/* data/id_index.c -- from the id of a hit or particle to its row.
 *
 * Hit ids are nearly always 1 .. n with few gaps, particle ids are scattered
 * over 63 bits. No hash table, as ids come from outside and could be chosen
 * to collide.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/id_index.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <string.h>

/* Maximum table size, in entries per id. */
#define MAX_SPARSE 8

static etx_status build_table(struct etx_id_index *index, const int64_t *ids)
{
    etx_status status = ETX_OK;

    ETX_NEW(index->table, index->n_table, "id table");
    memset(index->table, 0xff, (size_t)index->n_table * sizeof *index->table);
    for (int64_t row = 0; row < index->n_ids; row++) {
        ETX_POLL(row);
        index->table[ids[row] - index->lowest] = (int32_t)row;
    }
done:
    return status;
}

static etx_status build_list(struct etx_id_index *index, const int64_t *ids)
{
    etx_status status = ETX_OK;
    const int64_t n = index->n_ids;

    ETX_NEW(index->sorted_id, n, "sorted ids");
    ETX_NEW(index->sorted_row, n, "sorted ids");
    ETX_CHECK(etx_sort_order(index->sorted_row, ids, n));
    for (int64_t k = 0; k < n; k++) {
        ETX_POLL(k);
        index->sorted_id[k] = ids[index->sorted_row[k]];
    }
done:
    return status;
}

etx_status etx_id_index_build(
    struct etx_id_index *out, int64_t n_ids, const int64_t *ids)
{
    int64_t highest = 0;

    memset(out, 0, sizeof *out);
    out->n_ids = n_ids;
    if (n_ids == 0)
        return ETX_OK;
    out->lowest = highest = ids[0];
    for (int64_t row = 1; row < n_ids; row++) {
        out->lowest = ids[row] < out->lowest ? ids[row] : out->lowest;
        highest = ids[row] > highest ? ids[row] : highest;
    }

    const uint64_t span = (uint64_t)highest - (uint64_t)out->lowest;
    if (span >= (uint64_t)n_ids * MAX_SPARSE)
        return build_list(out, ids);
    out->n_table = (int64_t)span + 1;
    return build_table(out, ids);
}

void etx_id_index_release(struct etx_id_index *index)
{
    etx_free(index->table);
    etx_free(index->sorted_id);
    etx_free(index->sorted_row);
    memset(index, 0, sizeof *index);
}

/* The number of sorted ids that are at most id. */
static int64_t n_at_max(const struct etx_id_index *index, int64_t id)
{
    int64_t low = 0;
    int64_t high = index->n_ids;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (index->sorted_id[middle] <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t etx_id_index_find(const struct etx_id_index *index, int64_t id)
{
    if (index->table != NULL) {
        const uint64_t offset = (uint64_t)id - (uint64_t)index->lowest;

        return offset < (uint64_t)index->n_table ? index->table[offset] : -1;
    }

    const int64_t k = n_at_max(index, id);
    return k > 0 && index->sorted_id[k - 1] == id ? index->sorted_row[k - 1]
                                                  : -1;
}

etx_status etx_id_index_duplicate(
    int64_t *out, const struct etx_id_index *index, const int64_t *ids)
{
    etx_status status = ETX_OK;
    int64_t row = 0;

    for (; row < index->n_ids; row++) {
        ETX_POLL(row);
        if (etx_id_index_find(index, ids[row]) != row)
            break;
    }
    *out = row < index->n_ids ? row : -1;
done:
    return status;
}
