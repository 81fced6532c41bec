/* data/event.h -- the hits of one collision, with features and truth.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_EVENT_H
#define ETX_DATA_EVENT_H

#include "op/op.h"

#include <exatrkx/exatrkx.h>

/* Magnitudes of coordinates (mm) and of features: with parameters of at most
 * ETX_MAX_PARAMETER (arch/arch.h) the squares of a layer's sums are float32
 * numbers, so that no instruction set overflows where another does not. */
#define ETX_MAX_HIT_VALUE 1e9f

/* An array in memory of a device, of the caller; NULL: none. */
struct etx_borrowed_array {
    const float *values;
    int32_t device_index;
};

/* Who takes a column of hits along. */
enum etx_column_kind {
    ETX_COLUMN_ID,    /* a selection of hits */
    ETX_COLUMN_INPUT, /* that, events side by side, sectors and the keys of
                       * caches: what a model may read */
    ETX_COLUMN_TRUTH  /* a selection with truth */
};

/* Every array with a row per hit: COLUMN(type, name, width, kind, what) is a
 * field of the event, [n_hits, width]; what names it in messages. Width 0 is
 * n_features. All that is done to every column walks this list (data/event.c).
 */
#define ETX_EVENT_COLUMNS(COLUMN)                                              \
    COLUMN(int64_t, hit_id, 1, ID, "hit ids")                                  \
    /* x, y, z in mm */                                                        \
    COLUMN(float, position, 3, INPUT, "positions")                             \
    COLUMN(int32_t, volume_id, 1, INPUT, "volumes")                            \
    COLUMN(int32_t, layer_id, 1, INPUT, "layers")                              \
    COLUMN(int32_t, module_id, 1, INPUT, "modules")                            \
    /* cell_count, cell_val, leta, lphi, lx, ly, lz (mm), geta, gphi */        \
    COLUMN(float, cell_features, ETX_N_CELL_FEATURES, INPUT, "cell features")  \
    /* [n_hits, 2, 3] x, y, z in mm */                                         \
    COLUMN(float, cluster_position, 6, INPUT, "cluster positions")             \
    /* the caller's own, scaled */                                             \
    COLUMN(float, features, 0, INPUT, "features")                              \
    /* 0 = noise */                                                            \
    COLUMN(int64_t, particle_id, 1, TRUTH, "particle ids")                     \
    /* row of particles, -1 = noise */                                         \
    COLUMN(int32_t, particle_row, 1, TRUTH, "particles of hits")               \
    /* TrackML hit weights */                                                  \
    COLUMN(float, weight, 1, TRUTH, "hit weights")

/* Arrays are NULL when unknown. Allocated by etx_alloc, owned by the event.
 * Invariants: hit ids unique and positive, positions and features finite,
 * particle_row[i] in -1 .. n_particles-1. */
struct etx_event {
#define ETX_COLUMN_FIELD(type, name, width, kind, what) type *name;
    ETX_EVENT_COLUMNS(ETX_COLUMN_FIELD)
#undef ETX_COLUMN_FIELD
    int64_t n_hits;
    int64_t n_repeated_cells; /* that cell_features leave out */
    int64_t n_cell_pairs;     /* of hits of a module that have cells, */
    int64_t n_cell_misfits;   /* of these not as far apart as their cells */
    int64_t number;     /* of its file eventNUMBER-hits.csv, -1: unknown */
    int32_t n_joined;   /* events that are side by side here; 0: it is one */
    int64_t *first_hit; /* [n_joined + 1] of each, and n_hits */
    struct etx_borrowed_array borrowed_position; /* position on a device */
    int64_t n_features; /* columns of features, 0 without */
    struct etx_borrowed_array borrowed_features; /* features on a device */
    int64_t n_particles;
    etx_particle *particles; /* [n_particles] sorted by id */
    int64_t n_shared;        /* further particles of hits, by hit, then row */
    int32_t *shared_hit;     /* [n_shared] a hit that is not noise */
    int64_t *shared_particle_id;  /* [n_shared] */
    int32_t *shared_particle_row; /* [n_shared] unlike the hit's others */
};

/* A column of ETX_EVENT_COLUMNS, as all columns are treated alike. */
struct etx_event_column {
    size_t offset; /* of the pointer to the array in the event */
    size_t size;   /* bytes of an element */
    int32_t width; /* elements of a row; 0: n_features */
    int32_t kind;  /* enum etx_column_kind */
    const char *what;
};

#define ETX_COLUMN_COUNT(type, name, width, kind, what) +1
enum { ETX_N_EVENT_COLUMNS = 0 ETX_EVENT_COLUMNS(ETX_COLUMN_COUNT) };

extern const struct etx_event_column etx_event_columns[ETX_N_EVENT_COLUMNS];

/* The array of a column, NULL when the event lacks it; set it; the bytes of a
 * row. */
void *etx_event_column_get(
    const struct etx_event *event, const struct etx_event_column *column);
void etx_event_column_set(struct etx_event *event,
    const struct etx_event_column *column, void *values);
size_t etx_event_row_bytes(
    const struct etx_event *event, const struct etx_event_column *column);

/* Row of particle k of a hit, 0 the one of particle_row; -1 after the last. */
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

/* The work of the public functions of similar names, which check sizes,
 * pointers and single numbers. Inconsistent ids are ETX_ERR_ARGUMENT. On
 * failure the event is unchanged. */
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
