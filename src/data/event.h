/* data/event.h -- the hits of one collision, with features and truth.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_EVENT_H
#define ETX_DATA_EVENT_H

#include "op/op.h"

#include <exatrkx/exatrkx.h>

/* An array in memory of a device, of the caller; NULL: none. */
struct etx_lent_array {
    const float *values;
    int32_t device_index;
};

/* Arrays are NULL when unknown. Allocated by etx_alloc, owned by the event.
 * Invariants: hit ids unique and positive, positions and features finite,
 * particle_row[i] in -1 .. n_particles-1. */
struct etx_event {
    int64_t n_hits;
    int32_t n_joined;   /* events that are side by side here; 0: it is one */
    int64_t *first_hit; /* [n_joined + 1] of each, and n_hits */
    int64_t *hit_id;    /* [n_hits] */
    float *position;    /* [n_hits, 3] x, y, z in mm */
    struct etx_lent_array lent_position; /* the same */
    int32_t *volume_id;                  /* [n_hits] */
    int32_t *layer_id;                   /* [n_hits] */
    int32_t *module_id;                  /* [n_hits] */
    float *cell_features; /* [n_hits, 9] cell_count, cell_val, leta, lphi, lx,
                           * ly, lz (mm), geta, gphi */
    float *cluster_position; /* [n_hits, 2, 3] x, y, z in mm */
    int64_t n_features;      /* columns of features, 0 without */
    float *features;         /* [n_hits, n_features] the caller's own, scaled */
    struct etx_lent_array lent_features; /* the same */
    int64_t *particle_id;                /* [n_hits] 0 = noise */
    int32_t *particle_row; /* [n_hits] row of particles, -1 = noise */
    float *weight;         /* [n_hits] TrackML hit weights */
    int64_t n_particles;
    etx_particle *particles; /* [n_particles] sorted by id */
    int64_t n_shared;        /* further particles of hits, by hit, then row */
    int32_t *shared_hit;     /* [n_shared] a hit that is not noise */
    int64_t *shared_particle_id;  /* [n_shared] */
    int32_t *shared_particle_row; /* [n_shared] unlike the hit's others */
};

/* Row of particle k of a hit, 0 the one of particle_row; -1 behind the last. */
int32_t etx_event_particle_of(
    const struct etx_event *event, int64_t hit, int64_t k);

/* *out: the hits rows [n] of an event, without truth, for etx_event_free. */
etx_status etx_event_select(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n);
/* The same with truth, if the event has it: all its particles stay, and of a
 * shared hit the first. */
etx_status etx_event_select_with_truth(struct etx_event **out,
    const struct etx_event *event, const int32_t *rows, int64_t n);

/* 1: both have the same arrays of what a model reads. */
int32_t etx_event_can_join(
    const struct etx_event *a, const struct etx_event *b);
/* *out: the hits of events [n], of which all can join, side by side, without
 * hit ids and truth, for etx_event_free. */
etx_status etx_event_join(
    struct etx_event **out, const struct etx_event *const *events, int32_t n);

/* Replace the cell features by a copy of cell_features [n_hits, 9]. */
etx_status etx_event_replace_cell_features(
    struct etx_event *event, const float *cell_features);

/* The same with cluster_position [n_hits, 2, 3]. */
etx_status etx_event_replace_cluster_positions(
    struct etx_event *event, const float *cluster_position);

/* Behind the public functions of similar names, which check sizes, pointers and
 * single numbers. Inconsistent ids are ETX_ERR_ARGUMENT. On failure the event
 * is unchanged. */
etx_status etx_event_make(struct etx_event **out, int64_t n_hits,
    const int64_t *hit_ids, const float *positions);
etx_status etx_event_replace_features(
    struct etx_event *event, int64_t n_features, const float *features);
etx_status etx_event_replace_modules(struct etx_event *event,
    const int32_t *volume_ids, const int32_t *layer_ids,
    const int32_t *module_ids);
etx_status etx_event_replace_truth(struct etx_event *event,
    const int64_t *particle_ids, const float *weights, int64_t n_particles,
    const etx_particle *particles);
etx_status etx_event_replace_shared(struct etx_event *event, int64_t n_shared,
    const int32_t *hits, const int64_t *particle_ids);

#endif
