/* stage/helix/crossing.h -- where a helix crosses a layer, and the hits there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_CROSSING_H
#define ETX_STAGE_HELIX_CROSSING_H

#include "stage/helix/field.h"
#include "stage/helix/grid.h"

#define ETX_MAX_BACKWARD 12.0 /* mm: modules of a layer overlap */

/* Where a helix crosses a layer, and the window around it. */
struct etx_layer_crossing {
    const struct etx_track_helix *helix;
    const struct etx_grid_layer *layer;
    const struct etx_completion_window *window;
    double measured_field; /* T, where the helix was measured */
    double curvature;
    double s;         /* mm, path to the middle of the layer */
    double across;    /* z or radius there */
    double tolerance; /* of across, mm */
    double azimuth, width;
    bool is_inside; /* a hit is expected */
};

/* The crossing of a layer; hits are looked for up to reach windows from it.
 * false: the helix does not cross the layer, or that has no hits, or window is
 * NULL or tells nothing. */
bool etx_layer_cross(struct etx_layer_crossing *out,
    const struct etx_completion *completion, double reach,
    const struct etx_measured_helix *helix, const struct etx_grid_layer *layer,
    const struct etx_completion_window *window);

/* How far a hit is from a helix: along the azimuth, and along z where the helix
 * reaches the hit's radius (barrel), or along the radius where it reaches the
 * hit's z (disc). */
struct etx_residual {
    double transverse, longitudinal; /* mm */
    double s;         /* mm, path from the hit of the helix to there */
    bool is_opposite; /* the beam line is between the hit and the helix */
};

/* Of a hit [3]; false: the helix does not come there. */
bool etx_helix_residual(struct etx_residual *out,
    const struct etx_track_helix *helix, double curvature, const float *hit,
    bool is_barrel);

/* In units of the window, squared; INFINITY: the hit is not near. */
static inline double etx_residual_distance(const struct etx_residual *residual,
    const struct etx_completion_window *window)
{
    const double a = residual->transverse / (double)window->transverse;
    const double b = residual->longitudinal / (double)window->longitudinal;

    return residual->s > -ETX_MAX_BACKWARD && !residual->is_opposite
               ? a * a + b * b
               : INFINITY;
}

/* The same of a hit in the window of a crossing; *s is its path. INFINITY: it
 * is not near. */
double etx_crossing_distance(double *s,
    const struct etx_layer_crossing *crossing, const struct etx_grid_hit *hit);

/* Unrelated hits per unit of such a distance: density per mm^2 times the area
 * of the window. */
static inline double etx_window_random_hits(
    const struct etx_completion_window *window, double density)
{
    return density * ETX_PI * (double)window->transverse *
           (double)window->longitudinal;
}

/* Make the window smaller, from a reach to a nearer one. Margins grow, so that
 * hits in all the depth of the layer are still found, also by a helix that
 * turns back there. */
static inline void etx_crossing_shrink(
    struct etx_layer_crossing *crossing, double reach, double nearer)
{
    const struct etx_completion_window *const window = crossing->window;
    const bool is_barrel = crossing->layer->is_barrel;
    const double radius =
        is_barrel ? crossing->layer->radius : crossing->across;
    const double full_width = reach * (double)window->transverse / radius;
    const double margin = 2.0 * (crossing->width - full_width);
    const double width = margin + nearer * (double)window->transverse / radius;
    const double along =
        is_barrel ? fabs(crossing->helix->slope) * width * radius
                  : crossing->tolerance - reach * (double)window->longitudinal;

    crossing->tolerance = fmin(crossing->tolerance,
        crossing->tolerance + along -
            (reach - nearer) * (double)window->longitudinal);
    crossing->width = fmin(crossing->width, width);
}

static inline void etx_crossing_begin(
    struct etx_grid_walk *walk, const struct etx_layer_crossing *crossing)
{
    etx_grid_begin(walk, crossing->layer, crossing->azimuth, crossing->width,
        crossing->across - crossing->tolerance,
        crossing->across + crossing->tolerance);
}

/* The next hit in the window; NULL: there is none. */
static inline const struct etx_grid_hit *etx_crossing_next(
    struct etx_grid_walk *walk, const struct etx_layer_crossing *crossing)
{
    const struct etx_grid_hit *hit;

    while ((hit = etx_grid_next(walk)) != NULL) {
        const double across = etx_grid_across(crossing->layer, hit);
        const double turn = fabs((double)hit->azimuth - crossing->azimuth);

        if (fabs(across - crossing->across) <= crossing->tolerance &&
            (turn <= crossing->width || turn >= 2.0 * ETX_PI - crossing->width))
            break;
    }
    return hit;
}

#endif
