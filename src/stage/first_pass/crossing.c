/* stage/first_pass/crossing.c -- where a helix crosses a layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/search.h"

#include "stage/first_pass/arc.h"
#include "stage/track_building/completion.h"

#define MAX_TRANSVERSE   25.0 /* mm; wider windows tell nothing */
#define MAX_LONGITUDINAL 50.0
#define MARGIN           1.0  /* mm */
#define AZIMUTH_MARGIN   1e-3 /* rad */
#define DEPTH            0.6  /* of a layer, to both sides of its middle */
#define MIN_RADIUS       20.0 /* mm */
#define MAX_DISC_PATH    30.0
#define MIN_OUTWARD      0.2 /* of the tangent */
#define MIN_CHORD        0.8
#define ROUNDING         1e-3 /* mm */
#define TWO_PI           6.28318530717958647692

/* The outward and the sideways part of the direction at a point, for turns well
 * below one radian. */
static void direction_at(double *outward, double *sideways,
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

static bool is_within(double value, double low, double high, double margin)
{
    return value > low - margin && value < high + margin;
}

/* In a barrel: where the helix crosses the mean radius, from the helix, layer
 * and tolerance in *out, which grows by the thickness of the layer. The field
 * is read half way, as of a straight line from the helix's own radius. *depth:
 * how far the helix moves sideways within the layer, to each side. False where
 * it does not cross. */
static bool cross_barrel(struct etx_layer_crossing *out, double *depth,
    struct etx_arc_point *point, const struct etx_completion *completion,
    double radius)
{
    const struct etx_track_helix *const helix = out->helix;
    const struct etx_grid_layer *const layer = out->layer;
    const double thickness = DEPTH * (layer->max_radius - layer->min_radius);
    double outward, sideways;

    out->curvature = etx_completion_curvature(completion, helix,
        helix->z + 0.5 * helix->slope * fabs(layer->radius - radius));
    if (!etx_arc_to_radius(point, helix, out->curvature, layer->radius) ||
        point->s < -ETX_MAX_BACKWARD)
        return false;
    out->across = helix->z + helix->slope * point->s;
    out->is_inside =
        is_within(out->across, layer->min_z, layer->max_z, -out->tolerance);
    out->tolerance += thickness * fabs(helix->slope);
    direction_at(
        &outward, &sideways, helix, out->curvature, point, layer->radius);
    *depth = thickness * fabs(sideways) / fmax(fabs(outward), MIN_OUTWARD);
    return is_within(out->across, layer->min_z, layer->max_z, out->tolerance);
}

/* The same in a disc: where it crosses the mean z. */
static bool cross_disc(struct etx_layer_crossing *out, double *depth,
    struct etx_arc_point *point, const struct etx_completion *completion)
{
    const struct etx_track_helix *const helix = out->helix;
    const struct etx_grid_layer *const layer = out->layer;
    double outward, sideways;

    out->curvature = etx_completion_curvature(
        completion, helix, 0.5 * (helix->z + layer->z));
    if (!etx_arc_to_z(point, helix, out->curvature, layer->z) ||
        point->s < -MAX_DISC_PATH)
        return false;
    out->across = sqrt(point->x * point->x + point->y * point->y);
    if (out->across < MIN_RADIUS)
        return false;
    out->is_inside = is_within(
        out->across, layer->min_radius, layer->max_radius, -out->tolerance);
    const double path =
        DEPTH * (layer->max_z - layer->min_z) / fabs(helix->slope);
    out->tolerance += path;
    direction_at(
        &outward, &sideways, helix, out->curvature, point, out->across);
    *depth = path * fabs(sideways);
    return is_within(
        out->across, layer->min_radius, layer->max_radius, out->tolerance);
}

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
            DEPTH * (layer->max_radius - layer->min_radius);

        return along > 0.0 && path > 0.0 &&
               slope * (path - thickness) >
                   end + crossing->tolerance + ROUNDING;
    }
    const double path =
        helix->slope > 0.0 ? layer->z - helix->z : helix->z - layer->z;
    const double depth = DEPTH * (layer->max_z - layer->min_z);

    return path < -MAX_DISC_PATH * slope - ROUNDING ||
           slope * (layer->min_radius - radius - crossing->tolerance -
                       ROUNDING) >
               fabs(path) + depth ||
           MIN_CHORD * path - depth >
               slope * (radius + layer->max_radius + crossing->tolerance +
                           ROUNDING);
}

bool etx_layer_cross(struct etx_layer_crossing *out,
    const struct etx_first_pass_search *search,
    const struct etx_track_helix *helix, double radius, int32_t layer,
    const struct etx_completion_window *window)
{
    struct etx_arc_point point;
    double depth = 0.0;

    if (window == NULL || window->transverse <= 0.0f ||
        (double)window->transverse > MAX_TRANSVERSE ||
        (double)window->longitudinal > MAX_LONGITUDINAL ||
        search->grid.layers[layer].n_hits == 0)
        return false;
    *out = (struct etx_layer_crossing){.helix = helix,
        .layer = &search->grid.layers[layer],
        .window = window,
        .tolerance = search->reach * (double)window->longitudinal + MARGIN};
    if (passes_by(out, radius))
        return false;
    if (!(out->layer->is_barrel
                ? cross_barrel(out, &depth, &point, search->completion, radius)
                : cross_disc(out, &depth, &point, search->completion)))
        return false;
    out->s = point.s;
    out->azimuth = (double)etx_arc_azimuth((float)point.y, (float)point.x);
    out->width =
        (search->reach * (double)window->transverse + depth) /
            (out->layer->is_barrel ? out->layer->radius : out->across) +
        AZIMUTH_MARGIN;
    return true;
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
    const struct etx_grid_layer *const layer = crossing->layer;
    const double across =
        layer->is_barrel ? (double)hit->z : (double)hit->radius;
    const double turn = fabs((double)hit->azimuth - crossing->azimuth);
    double transverse, longitudinal;

    if (fabs(across - crossing->across) > crossing->tolerance ||
        (turn > crossing->width && turn < TWO_PI - crossing->width) ||
        !residuals(&transverse, &longitudinal, crossing->helix,
            crossing->curvature, hit, layer->is_barrel))
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
