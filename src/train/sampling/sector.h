/* train/sampling/sector.h -- a phi-eta sector of an event, augmented.
 *
 * A step sees the hits in an interval of the azimuth and of the polar angle:
 * the density of a full event at the cost of a small one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_SECTOR_H
#define ETX_TRAIN_SAMPLING_SECTOR_H

#include "backend/backend.h"
#include "base/random.h"
#include "data/hit_features.h"
#include "train/sampling/event.h"

/* Hits of an event, numbered 0 .. n_hits - 1 in the sector; in scratch.
 *
 *   row of the event   0   1   2   3   4   5
 *   local             -1   0  -1  -1   1   2
 *   row                    1           4   5
 */
struct etx_sector {
    int64_t n_hits;
    int32_t *row;    /* [n_hits] rows of the event, ascending */
    int32_t *local;  /* [hits of the event] index in row, -1 = outside */
    float *position; /* [n_hits, 3] mm, augmented */
    float *features; /* [n_hits, n_features] of the augmented hits */
};

/* Draw a sector of about n_hits hits (0: all): an interval in azimuth of the
 * hits in an interval of z / r, which holds the fraction sampling.eta_window of
 * the event's hits, or more when they are not enough. Both intervals wrap
 * around. */
etx_status etx_sector_draw(struct etx_sector *out, struct etx_arena *arena,
    struct etx_random *random, const struct etx_train_event *event,
    int64_t n_hits, const struct etx_feature_list *features,
    const struct etx_train_config *config);

/* The edges of the event's graph with both ends in the sector: ids [*n_edges]
 * ascending, in scratch. */
etx_status etx_sector_edges(int32_t **ids, int64_t *n_edges,
    struct etx_arena *arena, const struct etx_sector *sector,
    const struct etx_graph *graph);

/* The graph of the edges ids [n_edges] of graph, with the nodes and numbers of
 * the sector; the caller frees it with
 * etx_graph_free. */
etx_status etx_sector_graph(struct etx_graph **out,
    const struct etx_sector *sector, const struct etx_graph *graph,
    int64_t n_edges, const int32_t *ids);

#endif
