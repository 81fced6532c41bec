/* stage/helix/grid.h -- the hits of every layer in bins.
 *
 * Bins of a layer are cells of azimuth and z (barrel) or radius (disc), so the
 * hits around a predicted point are a few short runs of one array.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_GRID_H
#define ETX_STAGE_HELIX_GRID_H

#include "base/constants.h"
#include "data/event.h"
#include "memory/arena.h"
#include "stage/helix/layer_table.h"

#include <stdbool.h>

#define ETX_GRID_N_DENSITY 24 /* bins of density, along z or the radius */
/* The bound of a walk where hits crowd, far above what heavy events need: it
 * does not look at further hits. It is of one window, so that one spot takes
 * nothing from the rest of an event. */
#define ETX_MAX_HITS_OF_WALK 512

struct etx_grid_hit {
    union {
        struct {
            float x, y, z; /* mm */
        };
        float position[3];
    };
    float radius;  /* mm */
    float azimuth; /* etx_arc_azimuth */
    int32_t hit;   /* row of the event */
    int32_t module, layer;
};

struct etx_grid_layer {
    bool is_barrel;
    int32_t n_hits;
    int32_t n_azimuth, n_across; /* bins; the former a power of two */
    struct etx_grid_hit *hit;    /* [n_hits] by bin, then by row */
    int32_t *begin;              /* [n_across * n_azimuth + 1] */
    double min_radius, max_radius, min_z, max_z; /* mm */
    double radius, z;                            /* their means */
    double low, high; /* of z in a barrel, of the radius in a disc */
    double per_bin;   /* bins per mm from low on */
    double per_angle; /* bins per rad */
    double density[ETX_GRID_N_DENSITY]; /* hits per mm^2 */
    double max_density;
};

struct etx_grid {
    struct etx_grid_hit *row; /* [n_hits] all hits, by row of the event */
    int32_t *layer;           /* [n_hits] etx_completion_layers */
    int32_t *used;            /* [n_hits] hits in bins, by row of the event */
    int32_t *bin;             /* [n_hits] of these, of their layers */
    struct etx_grid_hit *hit; /* [n_hits] by layer */
    int32_t *begin;           /* all layers' */
    struct etx_grid_layer layers[ETX_COMPLETION_MAX_LAYERS];
};

/* Allocate for an event, all in arena: the hits and their layers. Copies of
 * *out share them. */
etx_status etx_grid_make(struct etx_grid **out, struct etx_arena *arena,
    const struct etx_completion *completion, const struct etx_event *event);
/* Bins of its own for a copy, in arena. */
etx_status etx_grid_make_bins(
    struct etx_grid *grid, struct etx_arena *arena, int64_t n_hits);
/* Fill with the hits that have a layer and a label below 0, which also measure
 * the layers. */
void etx_grid_fill(struct etx_grid *grid,
    const struct etx_completion *completion, const int32_t *label,
    int64_t n_hits);
/* Measure the layers by all hits. */
void etx_grid_measure(struct etx_grid *grid,
    const struct etx_completion *completion, int64_t n_hits);
/* Fill layers that were so measured, with the hits that have a label below 0,
 * of which densities are, or are among other [n_hits]. */
void etx_grid_fill_with(struct etx_grid *grid,
    const struct etx_completion *completion, const int32_t *label,
    const bool *other, int64_t n_hits);

/* The coordinate along which hits of the layer spread: z or radius, mm. */
static inline double etx_grid_across(
    const struct etx_grid_layer *layer, const struct etx_grid_hit *hit)
{
    return layer->is_barrel ? (double)hit->z : (double)hit->radius;
}

/* Hits per mm^2 there, and the least between two points. */
double etx_grid_density(const struct etx_grid_layer *layer, double across);
double etx_grid_least_density(
    const struct etx_grid_layer *layer, double low, double high);

/* A walk over the bins of a window. */
struct etx_grid_walk {
    const struct etx_grid_layer *layer;
    const struct etx_grid_hit *at, *end;
    int32_t n_left;        /* hits that it may still look at */
    int32_t row, last_row; /* bins along z or the radius */
    int32_t span, n_spans; /* of azimuth: two where it crosses pi */
    int32_t first[2], last[2];
};

static inline int32_t etx_grid_clamp_bin(double bin, int32_t n)
{
    if (!(bin > 0.0))
        return 0;
    return bin < n ? (int32_t)bin : n - 1;
}

/* Begin at azimuth +- width, z or radius in low .. high; the walk visits all
 * hits in this window, and some around it, but ETX_MAX_HITS_OF_WALK at most. */
static inline void etx_grid_begin(struct etx_grid_walk *walk,
    const struct etx_grid_layer *layer, double azimuth, double width,
    double low, double high)
{
    const int32_t n = layer->n_azimuth;
    int32_t first = 0;
    int32_t last = n - 1;

    if (2.0 * width * layer->per_angle < n - 2) {
        /* A turn more, so that the cast rounds down. */
        const double turn = 3.0 * ETX_PI;

        first =
            (int32_t)((azimuth - width + turn) * layer->per_angle) & (n - 1);
        last = (int32_t)((azimuth + width + turn) * layer->per_angle) & (n - 1);
    }
    *walk = (struct etx_grid_walk){.layer = layer,
        .n_left = ETX_MAX_HITS_OF_WALK,
        .row = etx_grid_clamp_bin(
                   (low - layer->low) * layer->per_bin, layer->n_across) -
               1,
        .last_row = etx_grid_clamp_bin(
            (high - layer->low) * layer->per_bin, layer->n_across),
        .n_spans = first <= last ? 1 : 2,
        .first = {first, 0},
        .last = {first <= last ? last : n - 1, last}};
    walk->span = walk->n_spans;
}

/* Hits in its bins, of which it visits the first. */
static inline int32_t etx_grid_n_ahead(const struct etx_grid_walk *walk)
{
    int32_t n = 0;

    for (int32_t row = walk->row + 1; row <= walk->last_row; row++) {
        const int32_t *const begin =
            walk->layer->begin + row * walk->layer->n_azimuth;

        for (int32_t k = 0; k < walk->n_spans; k++)
            n += begin[walk->last[k] + 1] - begin[walk->first[k]];
    }
    return n;
}

/* Hits that it has visited, in whole bins. */
static inline int32_t etx_grid_n_visited(const struct etx_grid_walk *walk)
{
    return ETX_MAX_HITS_OF_WALK - walk->n_left;
}

/* The next hit; NULL at the end. */
static inline const struct etx_grid_hit *etx_grid_next(
    struct etx_grid_walk *walk)
{
    while (walk->at == walk->end) {
        if (++walk->span >= walk->n_spans) {
            walk->span = 0;
            if (++walk->row > walk->last_row)
                return NULL;
        }
        const int32_t *const begin =
            walk->layer->begin + walk->row * walk->layer->n_azimuth;
        const int32_t first = begin[walk->first[walk->span]];
        const int32_t n = begin[walk->last[walk->span] + 1] - first;
        const int32_t n_looked_at = n < walk->n_left ? n : walk->n_left;
        walk->n_left -= n_looked_at;
        walk->at = walk->layer->hit + first;
        walk->end = walk->at + n_looked_at;
    }
    return walk->at++;
}

#endif
