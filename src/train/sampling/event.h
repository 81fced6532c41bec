/* train/sampling/event.h -- the events of a trainer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_EVENT_H
#define ETX_TRAIN_SAMPLING_EVENT_H

#include "data/graph.h"
#include "train/sampling/truth.h"

/* An event and what is computed from it once. */
struct etx_train_event {
    const struct etx_event *event; /* NULL: another rank has it */
    struct etx_event *augmented;   /* event, if it is a copy of its own */
    int64_t n_hits; /* before augmentation: the same on all ranks */
    int32_t holder; /* the one rank that has it, -1: all have it */
    double n_edges; /* of its graph when a step last saw it, 0: never */
    struct etx_truth truth;
    float *azimuth;          /* [n_hits] fraction of a turn, in [0, 1) */
    float *slope_quantile;   /* [n_hits] fraction of hits of smaller z / r */
    struct etx_graph *graph; /* the stage's input, cached; or NULL */
    int64_t graph_bytes;
    int64_t last_use; /* larger is later */
};

etx_status etx_train_event_create(struct etx_train_event **out,
    const struct etx_event *event, const struct etx_train_config *config);
/* One that another rank has. */
etx_status etx_train_event_absent(struct etx_train_event **out, int64_t n_hits);
void etx_train_event_free(struct etx_train_event *event);

/* Events in the order in which they were added, owned. */
struct etx_train_events {
    int64_t n, capacity;
    struct etx_train_event **event; /* [n] */
    int64_t n_hits;                 /* of all */
    uint64_t hash;                  /* of their numbers of hits, in order */
};

/* On error the event stays the caller's. */
etx_status etx_train_events_add(
    struct etx_train_events *events, struct etx_train_event *event);
void etx_train_events_clear(struct etx_train_events *events);

#endif
