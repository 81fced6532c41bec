/* stage/track_fitting/holes.c -- layers that a track crosses without a hit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/holes.h"

#include <math.h>

#define MIN_ALONG_AXIS 0.5 /* |w_z| of the normal of a disc's module */

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

bool etx_detector_layer_is_crossed(const struct etx_detector_layer *layer,
    const double from[3], const double to[3])
{
    const double r[2] = {hypot(from[0], from[1]), hypot(to[0], to[1])};
    const double z[2] = {from[2], to[2]};
    const double *across = layer->is_barrel ? r : z;
    const double *along = layer->is_barrel ? z : r;

    if ((across[0] < layer->at) == (across[1] < layer->at))
        return false;
    const double part = (layer->at - across[0]) / (across[1] - across[0]);
    const double where = along[0] + part * (along[1] - along[0]);
    return where >= layer->low && where <= layer->high;
}
