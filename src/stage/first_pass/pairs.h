/* stage/first_pass/pairs.h -- many pairs of hits at a time, in vector code.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_FIRST_PASS_PAIRS_H
#define ETX_STAGE_FIRST_PASS_PAIRS_H

#include "stage/first_pass/search.h"
#include "stage/helix/layer_crossing.h"

#define ETX_PAIRS     32  /* of a first hit at a time */
#define ETX_MIN_CHORD 1.0 /* mm */

/* Pairs of one first hit and, where they come from the beam line, the helices
 * at their second hits; by column, for vector code. */
struct etx_pairs {
    int32_t first; /* hit */
    int32_t n;
    double max_random; /* of a third hit */
    int32_t hit[ETX_PAIRS];
    int32_t bin[ETX_PAIRS];     /* of transverse momentum */
    int64_t is_kept[ETX_PAIRS]; /* there is a helix or line, as is wanted */
    double radius[ETX_PAIRS];   /* mm */
    double x[ETX_PAIRS], y[ETX_PAIRS], z[ETX_PAIRS], tangent_x[ETX_PAIRS],
        tangent_y[ETX_PAIRS], curvature[ETX_PAIRS], slope[ETX_PAIRS],
        measured_field[ETX_PAIRS]; /* T */
};

/* Where the helices cross a third layer. */
struct etx_pair_crossings {
    struct etx_completion_window window[ETX_PAIRS];
    int64_t is_crossed[ETX_PAIRS];
    double across[ETX_PAIRS], tolerance[ETX_PAIRS], azimuth[ETX_PAIRS],
        width[ETX_PAIRS], curvature[ETX_PAIRS];
};

/* No pair of a first hit yet, whose second hits a walk begins to visit: where
 * they are many, third hits have to be nearer. */
static inline void etx_pairs_begin(struct etx_pairs *pairs,
    const struct etx_first_pass_search *search, int32_t first,
    const struct etx_grid_walk *walk)
{
    const int32_t n_ahead = etx_grid_n_ahead(walk);
    const int32_t n =
        n_ahead < ETX_MAX_HITS_OF_WALK ? n_ahead : ETX_MAX_HITS_OF_WALK;

    pairs->first = first;
    pairs->n = 0;
    pairs->max_random =
        fmin(search->seed_max_random, search->seed_max_of_hit / fmax(n, 1.0));
}

static inline void etx_pairs_add(
    struct etx_pairs *pairs, const struct etx_grid_hit *second)
{
    const int32_t n = pairs->n++;

    pairs->hit[n] = second->hit;
    pairs->radius[n] = (double)second->radius;
    pairs->x[n] = (double)second->x;
    pairs->y[n] = (double)second->y;
    pairs->z[n] = (double)second->z;
}

static inline struct etx_track_helix etx_pair_helix(
    const struct etx_pairs *pairs, int32_t i)
{
    return (struct etx_track_helix){.x = pairs->x[i],
        .y = pairs->y[i],
        .z = pairs->z[i],
        .tangent_x = pairs->tangent_x[i],
        .tangent_y = pairs->tangent_y[i],
        .curvature = pairs->curvature[i],
        .slope = pairs->slope[i],
        .z_middle = 0.5 * pairs->z[i]};
}

/* Crossing i of helix, that of pair i. */
static inline struct etx_layer_crossing etx_pair_crossing(
    const struct etx_pair_crossings *crossings, int32_t i,
    const struct etx_track_helix *helix, const struct etx_grid_layer *layer)
{
    return (struct etx_layer_crossing){.helix = helix,
        .layer = layer,
        .window = &crossings->window[i],
        .across = crossings->across[i],
        .tolerance = crossings->tolerance[i],
        .azimuth = crossings->azimuth[i],
        .width = crossings->width[i],
        .curvature = crossings->curvature[i]};
}

/* The circle through the beam line (Menger) and the hits a and b, without
 * branches. */
static inline bool etx_helix_from_beam(struct etx_track_helix *out, double *z,
    double a_x, double a_y, double a_z, double b_x, double b_y, double b_z)
{
    const double x = b_x - a_x;
    const double y = b_y - a_y;
    const double length = sqrt(x * x + y * y);
    const double inner = sqrt(a_x * a_x + a_y * a_y);
    const double outer = sqrt(b_x * b_x + b_y * b_y);
    const double curvature =
        2.0 * (a_x * b_y - a_y * b_x) / (inner * outer * length);
    const double sine = 0.5 * curvature * length;
    const double first = 0.5 * curvature * inner;
    const double cosine = sqrt(1.0 - sine * sine);

    out->x = b_x;
    out->y = b_y;
    out->z = b_z;
    out->curvature = curvature;
    out->tangent_x = (x * cosine - y * sine) / length;
    out->tangent_y = (y * cosine + x * sine) / length;
    out->slope = (b_z - a_z) / (length * etx_arc_by_chord(sine * sine));
    out->z_middle = 0.5 * b_z;
    *z = a_z - out->slope * inner * etx_arc_by_chord(first * first);
    return (length >= ETX_MIN_CHORD) & (inner > 0.0) & (outer > 0.0) &
           (fabs(sine) <= ETX_ARC_MAX_SINE) & (fabs(first) <= ETX_ARC_MAX_SINE);
}

/* One version for each instruction set, with the same results. */
struct etx_pair_functions {
    /* The helices of all pairs; those that do not come from the beam line are
     * left out. */
    void (*find_helices)(
        struct etx_pairs *pairs, const struct etx_first_pass_search *search);
    /* The lines through all pairs, and windows on a layer that are wider than
     * this one, and as much as a track may bend. */
    void (*find_lines)(struct etx_pair_crossings *windows,
        struct etx_pairs *pairs, const struct etx_first_pass_search *search,
        const struct etx_grid_layer *layer,
        const struct etx_completion_window *window);
    /* Where they cross a layer, which has hits; with the windows in *out. */
    void (*cross)(struct etx_pair_crossings *out,
        const struct etx_first_pass_search *search,
        const struct etx_pairs *pairs, const struct etx_grid_layer *layer);
};

extern const struct etx_pair_functions etx_pairs_plain, etx_pairs_avx2;

#endif
