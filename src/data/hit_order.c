/* data/hit_order.c -- the hits of tracks or particles, from inside out.
 *
 * Hits go to their groups by row; each group is sorted by distance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/hit_order.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <string.h>

#define MAX_FEW 32 /* hits of a group */

/* The squared distance of two points [3] as an integer of the same order. */
static int64_t distance_key(const float *a, const float *b)
{
    double sum = 0.0;
    int64_t bits; /* of doubles from 0 on: in their order */

    for (int k = 0; k < 3; k++) {
        const double d = (double)a[k] - (double)b[k];
        sum += d * d;
    }
    memcpy(&bits, &sum, sizeof bits);
    return bits;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Where the hits of each group begin and, by row, which they are. Hits of no
 * group are a last one, so that no branch has to be foreseen. */
static void group_hits(int32_t *begin, int32_t *hit, const int32_t *group,
    int64_t n_groups, int64_t n_hits)
{
    const uint32_t none = (uint32_t)n_groups;

    memset(begin, 0, (size_t)(n_groups + 1) * sizeof *begin);
    for (int64_t i = 0; i < n_hits; i++)
        begin[smaller((uint32_t)group[i], none)]++;
    for (int64_t g = 0; g < n_groups; g++)
        begin[g + 1] += begin[g];
    /* From the back: the end of a group sinks to its begin. */
    for (int64_t i = n_hits - 1; i >= 0; i--)
        hit[--begin[smaller((uint32_t)group[i], none)]] = (int32_t)i;
}

/* Sort the hits [n] of a group by their distances, ties by row. Short groups
 * count what is before each hit, without a branch that nobody could foresee. */
static void sort_few(int32_t *hit, const int64_t *key, int32_t n)
{
    int32_t row[MAX_FEW];
    int32_t rank[MAX_FEW];

    for (int32_t k = 0; k < n; k++) {
        row[k] = hit[k];
        rank[k] = 0;
        for (int32_t i = 0; i < k; i++) {
            const int32_t is_before = key[i] <= key[k];

            rank[k] += is_before;
            rank[i] += 1 - is_before;
        }
    }
    for (int32_t k = 0; k < n; k++)
        hit[rank[k]] = row[k];
}

static etx_status sort_many(int32_t *hit, const int64_t *key, int32_t n)
{
    int32_t *order = NULL;
    int32_t *row = NULL;
    etx_status status;

    ETX_NEW(order, n, "order of hits");
    ETX_NEW(row, n, "order of hits");
    ETX_CHECK(etx_sort_order(order, key, n));
    memcpy(row, hit, (size_t)n * sizeof *row);
    for (int32_t k = 0; k < n; k++)
        hit[k] = row[order[k]];
done:
    etx_free(row);
    etx_free(order);
    return status;
}

static etx_status sort_group(
    int32_t *hit, int32_t n, const struct etx_event *event, const float *from)
{
    int64_t few[MAX_FEW];
    int64_t *many = NULL;
    int64_t *key = few;
    etx_status status = ETX_OK;

    if (n > MAX_FEW) {
        ETX_NEW(many, n, "order of hits");
        key = many;
    }
    for (int32_t k = 0; k < n; k++)
        key[k] = distance_key(event->position + 3 * (int64_t)hit[k], from);
    if (n > MAX_FEW)
        ETX_CHECK(sort_many(hit, key, n));
    else
        sort_few(hit, key, n);
done:
    etx_free(many);
    return status;
}

etx_status etx_order_hits(int32_t *begin, int32_t *hit, const int32_t *group,
    int64_t n_groups, const struct etx_event *event, int32_t from_vertex)
{
    static const float origin[3] = {0.0f, 0.0f, 0.0f};
    etx_status status = ETX_OK;

    group_hits(begin, hit, group, n_groups, event->n_hits);
    for (int64_t g = 0; g < n_groups; g++) {
        ETX_POLL(g);
        ETX_CHECK(sort_group(hit + begin[g], begin[g + 1] - begin[g], event,
            from_vertex ? event->particles[g].vertex : origin));
    }
done:
    return status;
}
