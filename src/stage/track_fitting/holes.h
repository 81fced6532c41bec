/* stage/track_fitting/holes.h -- layers that a track crosses without a hit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_FITTING_HOLES_H
#define ETX_STAGE_TRACK_FITTING_HOLES_H

#include "data/detector.h"
#include <stdbool.h>

/* A cylinder or a disc, as far as the centres of its modules reach. */
struct etx_detector_layer {
    int32_t volume_id, layer_id;
    int32_t is_barrel;
    double at;        /* mm: radius of a barrel, z of a disc */
    double low, high; /* mm: z of a barrel, radius of a disc */
};

/* The layers of a detector; layer [n_modules] is enough. */
int32_t etx_detector_layers(
    struct etx_detector_layer *layer, const struct etx_detector *detector);

/* Whether a track crosses the layer between two of its hits, which are near
 * enough for r to be linear in z. */
bool etx_detector_layer_is_crossed(const struct etx_detector_layer *layer,
    const double from[3], const double to[3]);

#endif
