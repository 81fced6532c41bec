/* stage/track_fitting/holes.c -- layers that a track crosses without a hit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/holes.h"

#include <math.h>
#include <string.h>

#define MIN_ALONG_AXIS 0.5 /* |w_z| of the normal of a disc's module */
#define MAX_PLANES     8
#define ON_CYLINDER    0.1 /* mm */

int32_t etx_detector_layers(
    struct etx_detector_layer *layer, const struct etx_detector *detector)
{
    int32_t n = 0;
    int64_t first = 0;

    while (first < detector->n_modules) {
        const struct etx_detector_module *begin = &detector->modules[first];
        struct etx_detector_layer *made = &layer[n++];
        double sum = 0.0;
        int64_t end = first;

        *made = (struct etx_detector_layer){.volume_id = begin->volume_id,
            .layer_id = begin->layer_id,
            .is_barrel = fabs((double)begin->rotation[8]) < MIN_ALONG_AXIS,
            .low = INFINITY,
            .high = -INFINITY};
        for (; end < detector->n_modules; end++) {
            const struct etx_detector_module *module = &detector->modules[end];
            const double r =
                hypot((double)module->center[0], (double)module->center[1]);
            const double z = (double)module->center[2];

            if (module->volume_id != begin->volume_id ||
                module->layer_id != begin->layer_id)
                break;
            sum += made->is_barrel ? r : z;
            made->low = fmin(made->low, made->is_barrel ? z : r);
            made->high = fmax(made->high, made->is_barrel ? z : r);
        }
        made->at = sum / (double)(end - first);
        first = end;
    }
    return n;
}

/* A cylinder is a plane at the azimuth of the path, and again where that
 * plane is crossed. */
static bool reach_cylinder(struct etx_path_point *point, double radius,
    const double parameters[ETX_N_PATH], const struct etx_path_field *field)
{
    for (int k = 0; k < MAX_PLANES; k++) {
        const double phi =
            k == 0 ? point->phi : atan2(point->position[1], point->position[0]);
        const double normal[3] = {cos(phi), sin(phi), 0.0};
        const double origin[3] = {radius * normal[0], radius * normal[1], 0.0};

        if (!etx_path_reach(point, parameters, field, origin, normal))
            return false;
        if (fabs(hypot(point->position[0], point->position[1]) - radius) <
            ON_CYLINDER)
            return true;
    }
    return false;
}

bool etx_detector_layer_is_crossed(const struct etx_detector_layer *layer,
    const double parameters[ETX_N_PATH], const struct etx_path_field *field,
    double from, double to)
{
    static const double axis[3] = {0.0, 0.0, 1.0};
    const double origin[3] = {0.0, 0.0, layer->at};
    struct etx_path_point point;

    etx_path_start(&point, parameters);
    if (layer->is_barrel
            ? !reach_cylinder(&point, layer->at, parameters, field)
            : !etx_path_reach(&point, parameters, field, origin, axis))
        return false;
    const double other = layer->is_barrel
                             ? point.position[2]
                             : hypot(point.position[0], point.position[1]);
    return point.length > from && point.length < to && other >= layer->low &&
           other <= layer->high;
}
