/* stage/helix/crossing.c -- where a helix crosses a layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/helix/crossing.h"

#include "stage/helix/layer_crossing.h"

#define MIN_CHORD 0.8
#define ROUNDING  1e-3 /* mm */

/* Quick: the helix is beyond the ends of a barrel where it reaches its radius,
 * or outside the radii of a disc where it reaches its z, or leads away from it.
 * An arc is no shorter than its chord, nor that than the difference of the
 * radii; and a chord no shorter than MIN_CHORD of an arc that etx_arc_to_z
 * follows. */
static bool passes_by(const struct etx_track_helix *helix, double radius,
    const struct etx_grid_layer *layer, double tolerance)
{
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
               slope * (path - thickness) > end + tolerance + ROUNDING;
    }
    const double path =
        helix->slope > 0.0 ? layer->z - helix->z : helix->z - layer->z;
    const double depth = ETX_LAYER_DEPTH * (layer->max_z - layer->min_z);

    return path < -ETX_MAX_DISC_PATH * slope - ROUNDING ||
           slope * (layer->min_radius - radius - tolerance - ROUNDING) >
               fabs(path) + depth ||
           MIN_CHORD * path - depth >
               slope * (radius + layer->max_radius + tolerance + ROUNDING);
}

bool etx_layer_cross(struct etx_layer_crossing *out,
    const struct etx_completion *completion, double reach,
    const struct etx_measured_helix *helix, const struct etx_grid_layer *layer,
    const struct etx_completion_window *window)
{
    if (window == NULL || !etx_window_is_known(window) || layer->n_hits == 0)
        return false;
    const double tolerance = etx_window_tolerance(window, reach);
    if (passes_by(&helix->helix, helix->radius, layer, tolerance))
        return false;
    *out = (struct etx_layer_crossing){.helix = &helix->helix,
        .layer = layer,
        .window = window,
        .measured_field = helix->field,
        .tolerance = tolerance};
    return layer->is_barrel
               ? etx_cross_barrel(out, completion, reach, helix->radius)
               : etx_cross_disc(out, completion, reach);
}

/* Of a hit at this radius, at that or its z. */
static bool find_residual(struct etx_residual *out,
    const struct etx_track_helix *helix, double curvature, const float *hit,
    double radius, bool is_barrel)
{
    const double x = (double)hit[0];
    const double y = (double)hit[1];
    struct etx_arc_point at;

    if (is_barrel) {
        if (!etx_arc_to_radius(&at, helix, curvature, radius))
            return false;
        out->longitudinal = (double)hit[2] - (helix->z + helix->slope * at.s);
    } else {
        if (!etx_arc_to_z(&at, helix, curvature, (double)hit[2]))
            return false;
        const double reached = sqrt(at.x * at.x + at.y * at.y);
        out->longitudinal = radius - reached;
        radius = reached;
    }
    out->transverse = (at.x * y - at.y * x) / radius;
    out->s = at.s;
    out->is_opposite = !(at.x * x + at.y * y > 0.0);
    if (out->is_opposite) /* a sine, which would fall again */
        out->transverse =
            copysign(2.0 * radius, out->transverse) - out->transverse;
    return true;
}

bool etx_helix_residual(struct etx_residual *out,
    const struct etx_track_helix *helix, double curvature, const float *hit,
    bool is_barrel)
{
    const float radius = sqrtf(hit[0] * hit[0] + hit[1] * hit[1]);

    return find_residual(out, helix, curvature, hit, (double)radius, is_barrel);
}

double etx_crossing_distance(double *s,
    const struct etx_layer_crossing *crossing, const struct etx_grid_hit *hit)
{
    struct etx_residual residual;

    if (!find_residual(&residual, crossing->helix, crossing->curvature,
            hit->position, (double)hit->radius, crossing->layer->is_barrel))
        return INFINITY;
    *s = residual.s;
    return etx_residual_distance(&residual, crossing->window);
}
