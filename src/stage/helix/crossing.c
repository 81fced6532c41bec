/* stage/helix/crossing.c -- where a helix crosses a layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/search.h"

#include "stage/helix/field.h"
#include "stage/helix/layer_crossing.h"

#define MIN_CHORD 0.8
#define ROUNDING  1e-3 /* mm */

/* Quick: the helix is beyond the ends of a barrel where it reaches its radius,
 * or outside the radii of a disc where it reaches its z, or leads away from it.
 * An arc is no shorter than its chord, nor that than the difference of the
 * radii; and a chord no shorter than MIN_CHORD of an arc that etx_arc_to_z
 * follows. */
static bool passes_by(const struct etx_layer_crossing *crossing, double radius)
{
    const struct etx_track_helix *const helix = crossing->helix;
    const struct etx_grid_layer *const layer = crossing->layer;
    const double slope = fabs(helix->slope);

    if (layer->is_barrel) {
        const double path = layer->radius - radius;
        const double along =
            helix->x * helix->tangent_x + helix->y * helix->tangent_y;
        const double end = helix->slope > 0.0 ? layer->max_z - helix->z
                                              : helix->z - layer->min_z;
        const double thickness =
            ETX_LAYER_DEPTH * (layer->max_radius - layer->min_radius);

        return along > 0.0 && path > 0.0 &&
               slope * (path - thickness) >
                   end + crossing->tolerance + ROUNDING;
    }
    const double path =
        helix->slope > 0.0 ? layer->z - helix->z : helix->z - layer->z;
    const double depth = ETX_LAYER_DEPTH * (layer->max_z - layer->min_z);

    return path < -ETX_MAX_DISC_PATH * slope - ROUNDING ||
           slope * (layer->min_radius - radius - crossing->tolerance -
                       ROUNDING) >
               fabs(path) + depth ||
           MIN_CHORD * path - depth >
               slope * (radius + layer->max_radius + crossing->tolerance +
                           ROUNDING);
}

bool etx_layer_cross(struct etx_layer_crossing *out,
    const struct etx_first_pass_search *search,
    const struct etx_track_helix *helix, double measured_field, double radius,
    int32_t layer, const struct etx_completion_window *window)
{
    if (window == NULL || !etx_window_is_known(window) ||
        search->grid.layers[layer].n_hits == 0)
        return false;
    *out = (struct etx_layer_crossing){.helix = helix,
        .layer = &search->grid.layers[layer],
        .window = window,
        .measured_field = measured_field,
        .tolerance = etx_window_tolerance(window, search->reach)};
    if (passes_by(out, radius))
        return false;
    return (out->layer->is_barrel ? etx_cross_barrel(out, search, radius)
                                  : etx_cross_disc(out, search));
}

/* Distances of a hit from the helix, at the hit's own radius or z. */
static bool residuals(double *transverse, double *longitudinal,
    const struct etx_track_helix *helix, double curvature,
    const struct etx_grid_hit *hit, bool is_barrel)
{
    const double x = (double)hit->x;
    const double y = (double)hit->y;
    struct etx_arc_point at;
    double radius = (double)hit->radius;

    if (is_barrel) {
        if (!etx_arc_to_radius(&at, helix, curvature, radius))
            return false;
        *longitudinal = (double)hit->z - (helix->z + helix->slope * at.s);
    } else {
        if (!etx_arc_to_z(&at, helix, curvature, (double)hit->z))
            return false;
        radius = sqrt(at.x * at.x + at.y * at.y);
        *longitudinal = (double)hit->radius - radius;
    }
    *transverse = (at.x * y - at.y * x) / radius;
    return at.s > -ETX_MAX_BACKWARD && at.x * x + at.y * y > 0.0;
}

double etx_crossing_distance(
    const struct etx_layer_crossing *crossing, const struct etx_grid_hit *hit)
{
    double transverse, longitudinal;

    if (!residuals(&transverse, &longitudinal, crossing->helix,
            crossing->curvature, hit, crossing->layer->is_barrel))
        return INFINITY;
    transverse /= (double)crossing->window->transverse;
    longitudinal /= (double)crossing->window->longitudinal;
    return transverse * transverse + longitudinal * longitudinal;
}

bool etx_first_pass_residuals(double *transverse, double *longitudinal,
    const struct etx_track_helix *helix, double curvature, const float *hit,
    bool is_barrel)
{
    const struct etx_grid_hit at = {.x = hit[0],
        .y = hit[1],
        .z = hit[2],
        .radius = sqrtf(hit[0] * hit[0] + hit[1] * hit[1])};

    return residuals(
        transverse, longitudinal, helix, curvature, &at, is_barrel);
}
