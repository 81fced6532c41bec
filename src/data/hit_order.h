/* data/hit_order.h -- the hits of tracks or particles, from inside out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_HIT_ORDER_H
#define ETX_DATA_HIT_ORDER_H

#include "data/event.h"

/* The hits of every group, group [event->n_hits] in -1 (none) .. n_groups - 1,
 * by their distance from the origin or, where groups are the particles of the
 * event and from_vertex is 1, from the vertex of their particle; ties by row.
 * Of group g they are hit[begin[g]] .. hit[begin[g + 1] - 1]; hits of none
 * come last. begin [n_groups + 1], hit [event->n_hits]. */
etx_status etx_order_hits(int32_t *begin, int32_t *hit, const int32_t *group,
    int64_t n_groups, const struct etx_event *event, int32_t from_vertex);

#endif
