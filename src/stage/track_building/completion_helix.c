/* stage/track_building/completion_helix.c -- what the helix at an end is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/completion.h"

#define N_POINTS 3

void etx_completion_layers(int32_t *layer,
    const struct etx_completion *completion, const struct etx_event *event)
{
    const int32_t n_layers = (int32_t)completion->n_layers;
    int32_t last = 0; /* hits mostly come by layer */

    for (int64_t i = 0; i < event->n_hits; i++) {
        const int32_t volume_id = event->volume_id[i];
        const int32_t layer_id = event->layer_id[i];

        layer[i] = -1;
        for (int32_t k = 0; k < n_layers; k++) {
            const int32_t l = (last + k) % n_layers;

            const int64_t *const known =
                completion->layer + l * ETX_LAYER_WIDTH;

            if (known[ETX_LAYER_VOLUME] == volume_id &&
                known[ETX_LAYER_LAYER] == layer_id) {
                layer[i] = last = l;
                break;
            }
        }
    }
}

bool etx_completion_helix(struct etx_track_helix *out, int32_t kind,
    const float *position, const int32_t *layer, const int32_t *hit,
    int32_t n_hits)
{
    const float *point[N_POINTS]; /* from the end on */
    int32_t last = -1;
    int32_t n = 0;

    for (int32_t k = n_hits - 1; k >= 0 && n < N_POINTS; k--) {
        if (layer[hit[k]] < 0)
            return false;
        if (layer[hit[k]] == last)
            continue;
        last = layer[hit[k]];
        point[n++] = position + 3 * (int64_t)hit[k];
    }
    if (n < N_POINTS ||
        !etx_track_helix_through(out, point[2], point[1], point[0]))
        return false;
    return kind == ETX_HELIX_FREE ||
           etx_track_helix_towards_beam(out, point[2]);
}
