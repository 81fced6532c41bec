/* data/hit_order.c -- the hits of tracks or particles, from inside out.
 *
 * All hits are sorted by distance, then go to their groups in that order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/hit_order.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <string.h>

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

/* From row [n] of hits, through order, to their groups. */
static void assign(int32_t *begin, int32_t *hit, const int32_t *group,
    int64_t n_groups, const int32_t *row, const int32_t *order, int64_t n)
{
    memset(begin, 0, (size_t)(n_groups + 1) * sizeof *begin);
    for (int64_t k = 0; k < n; k++)
        begin[group[row[k]] + 1]++;
    for (int64_t g = 0; g < n_groups; g++)
        begin[g + 1] += begin[g];
    /* From the back: the end of a group sinks to its begin. */
    for (int64_t k = n - 1; k >= 0; k--)
        hit[--begin[group[row[order[k]]] + 1]] = row[order[k]];
    memmove(begin, begin + 1, (size_t)n_groups * sizeof *begin);
    begin[n_groups] = (int32_t)n;
}

etx_status etx_order_hits(int32_t *begin, int32_t *hit, const int32_t *group,
    int64_t n_groups, const struct etx_event *event, int32_t from_vertex)
{
    static const float origin[3] = {0.0f, 0.0f, 0.0f};
    int64_t *key = NULL;
    int32_t *row = NULL;
    int32_t *order = NULL;
    int64_t n = 0;
    etx_status status;

    ETX_NEW(key, event->n_hits, "order of hits");
    ETX_NEW(row, event->n_hits, "order of hits");
    ETX_NEW(order, event->n_hits, "order of hits");
    for (int64_t i = 0; i < event->n_hits; i++) {
        if (group[i] < 0)
            continue;
        key[n] = distance_key(event->position + 3 * i,
            from_vertex ? event->particles[group[i]].vertex : origin);
        row[n++] = (int32_t)i;
    }
    ETX_CHECK(etx_sort_order(order, key, n));
    assign(begin, hit, group, n_groups, row, order, n);
done:
    etx_free(key);
    etx_free(row);
    etx_free(order);
    return status;
}
