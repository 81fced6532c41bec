/* stage/helix/layer_crossing.h -- the formulas of crossing.c, without
 * branches: for one helix, and for loops over many.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_LAYER_CROSSING_H
#define ETX_STAGE_HELIX_LAYER_CROSSING_H

#include "stage/helix/arc.h"
#include "stage/helix/crossing.h"

#define ETX_MAX_TRANSVERSE   25.0 /* mm; wider windows tell nothing */
#define ETX_MAX_LONGITUDINAL 50.0
#define ETX_CROSSING_MARGIN  1.0  /* mm */
#define ETX_AZIMUTH_MARGIN   1e-3 /* rad */
#define ETX_LAYER_DEPTH      0.6  /* of a layer, to both sides of its middle */
#define ETX_MIN_RADIUS       20.0 /* mm */
#define ETX_MAX_DISC_PATH    30.0
#define ETX_MIN_OUTWARD      0.2 /* of the tangent */

static inline bool etx_window_is_known(
    const struct etx_completion_window *window)
{
    return (window->transverse > 0.0f) &
           ((double)window->transverse <= ETX_MAX_TRANSVERSE) &
           ((double)window->longitudinal <= ETX_MAX_LONGITUDINAL);
}

/* Of z or radius, mm. */
static inline double etx_window_tolerance(
    const struct etx_completion_window *window, double reach)
{
    return reach * (double)window->longitudinal + ETX_CROSSING_MARGIN;
}

/* The outward and the sideways part of the direction at a point, for turns well
 * below one radian. */
static inline void etx_direction_at(double *outward, double *sideways,
    const struct etx_track_helix *helix, double curvature,
    const struct etx_arc_point *point, double radius)
{
    const double angle = curvature * point->s;
    const double cosine = 1.0 - 0.5 * angle * angle;
    const double x = helix->tangent_x * cosine - helix->tangent_y * angle;
    const double y = helix->tangent_y * cosine + helix->tangent_x * angle;

    *outward = (point->x * x + point->y * y) / radius;
    *sideways = (point->x * y - point->y * x) / radius;
}

static inline bool etx_is_within(
    double value, double low, double high, double margin)
{
    return (value > low - margin) & (value < high + margin);
}

/* The window of azimuth around a point at a radius; depth: how far the helix
 * moves sideways within the layer, to each side. */
static inline void etx_crossing_azimuth(struct etx_layer_crossing *out,
    const struct etx_arc_point *point, double reach, double depth,
    double radius)
{
    out->s = point->s;
    out->azimuth = (double)etx_arc_azimuth((float)point->y, (float)point->x);
    out->width = (reach * (double)out->window->transverse + depth) / radius +
                 ETX_AZIMUTH_MARGIN;
}

/* In a barrel: where the helix crosses the mean radius, from the helix, its
 * field, layer, window and tolerance in *out, which grows by the thickness of
 * the layer. The field is read half way, as of a straight line from the helix's
 * own radius. False where it does not cross. */
static inline bool etx_cross_barrel(struct etx_layer_crossing *out,
    const struct etx_completion *completion, double reach, double radius)
{
    const struct etx_track_helix *const helix = out->helix;
    const struct etx_grid_layer *const layer = out->layer;
    const double thickness =
        ETX_LAYER_DEPTH * (layer->max_radius - layer->min_radius);
    struct etx_arc_point point;
    double outward, sideways;

    out->curvature =
        etx_completion_curvature(completion, helix, out->measured_field,
            helix->z + 0.5 * helix->slope * fabs(layer->radius - radius));
    const bool is_reached =
        etx_arc_to_radius(&point, helix, out->curvature, layer->radius) &
        (point.s >= -ETX_MAX_BACKWARD);
    out->across = helix->z + helix->slope * point.s;
    out->is_inside =
        etx_is_within(out->across, layer->min_z, layer->max_z, -out->tolerance);
    out->tolerance += thickness * fabs(helix->slope);
    etx_direction_at(
        &outward, &sideways, helix, out->curvature, &point, layer->radius);
    outward = fabs(outward);
    etx_crossing_azimuth(out, &point, reach,
        thickness * fabs(sideways) /
            (outward > ETX_MIN_OUTWARD ? outward : ETX_MIN_OUTWARD),
        layer->radius);
    return is_reached & etx_is_within(out->across, layer->min_z, layer->max_z,
                            out->tolerance);
}

/* The same in a disc: where it crosses the mean z. */
static inline bool etx_cross_disc(struct etx_layer_crossing *out,
    const struct etx_completion *completion, double reach)
{
    const struct etx_track_helix *const helix = out->helix;
    const struct etx_grid_layer *const layer = out->layer;
    struct etx_arc_point point;
    double outward, sideways;

    out->curvature = etx_completion_curvature(
        completion, helix, out->measured_field, 0.5 * (helix->z + layer->z));
    const bool is_reached =
        etx_arc_to_z(&point, helix, out->curvature, layer->z) &
        (point.s >= -ETX_MAX_DISC_PATH);
    out->across = sqrt(point.x * point.x + point.y * point.y);
    out->is_inside = etx_is_within(
        out->across, layer->min_radius, layer->max_radius, -out->tolerance);
    const double path =
        ETX_LAYER_DEPTH * (layer->max_z - layer->min_z) / fabs(helix->slope);
    out->tolerance += path;
    etx_direction_at(
        &outward, &sideways, helix, out->curvature, &point, out->across);
    etx_crossing_azimuth(
        out, &point, reach, path * fabs(sideways), out->across);
    return is_reached & (out->across >= ETX_MIN_RADIUS) &
           etx_is_within(out->across, layer->min_radius, layer->max_radius,
               out->tolerance);
}

#endif
