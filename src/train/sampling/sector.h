/* train/sampling/sector.h -- a wedge of an event, turned and mirrored.
 *
 * A step sees the hits in a window of the azimuth and of the polar angle: the
 * density of a full event at the cost of a small one. Everything drawn comes
 * from (seed, step).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_SECTOR_H
#define ETX_TRAIN_SAMPLING_SECTOR_H

#include "backend/backend.h"
#include "base/random.h"
#include "data/graph.h"
#include "data/hit_features.h"
#include "train/sampling/truth.h"

/* An event of the trainer and what is derived from it. */
struct etx_train_event {
    const struct etx_event *event; /* NULL: another rank has it */
    int64_t n_hits;
    int32_t holder; /* the one rank that has it, -1: all do */
    double n_edges; /* of its graph when a step saw it last, 0: never */
    struct etx_truth truth;
    float *turn;             /* [n_hits] azimuth / 2 pi in [0, 1) */
    float *rank;             /* [n_hits] share of hits of smaller z / r */
    struct etx_graph *graph; /* what reaches the stage; NULL = not built */
    int64_t graph_bytes;
    int64_t last_use; /* larger is later */
};

etx_status etx_train_event_create(struct etx_train_event **out,
    const struct etx_event *event, const struct etx_train_config *config);
/* One that another rank has. */
etx_status etx_train_event_absent(struct etx_train_event **out, int64_t n_hits);
void etx_train_event_free(struct etx_train_event *event);

/* The hits of a wedge, in scratch; rows ascend. */
struct etx_sample {
    int64_t n_hits;
    int32_t *row;    /* [n_hits] of the event */
    int32_t *local;  /* [hits of the event] place in row, -1 = outside */
    float *position; /* [n_hits, 3] mm, augmented */
    float *features; /* [n_hits, n_features] of the augmented hits */
};

/* Take about n_hits hits (0: all): a window in azimuth of those in a window
 * of z / r, which holds config->sampling.eta_window of the event's hits, or
 * more when they are not enough. Both windows wrap around. */
etx_status etx_sample_take(struct etx_sample *out, struct etx_arena *arena,
    struct etx_random *random, const struct etx_train_event *event,
    int64_t n_hits, const struct etx_feature_list *features,
    const struct etx_train_config *config);

/* The edges of event->graph with both ends in the sample: ids [*n_edges]
 * ascending, in scratch. */
etx_status etx_sample_edges(int32_t **ids, int64_t *n_edges,
    struct etx_arena *arena, const struct etx_sample *sample,
    const struct etx_graph *graph);

/* The graph of these edges on the places of the sample; the caller frees it
 * with etx_graph_free. */
etx_status etx_sample_graph(struct etx_graph **out,
    const struct etx_sample *sample, const struct etx_graph *graph,
    int64_t n_edges, const int32_t *ids);

#endif
