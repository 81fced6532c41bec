/* stage/track_building/completion_helix.c -- what the helix at an end is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/completion.h"

#include "base/constants.h"

#include <math.h>

#define MIN_FIELD     0.25 /* T: below it the bending tells little */
#define MIN_CURVATURE 1e-9 /* 1/mm */
#define N_POINTS      3

/* Lower edges of the bins but the first, GeV. */
static const double pt_edges[ETX_COMPLETION_N_PT - 1] = {
    0.15, 0.25, 0.4, 0.7, 1.3};

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

/* The bending field at z, T, interpolated between the middles of bins. */
static double field_at(const struct etx_completion *completion, double z)
{
    const double bin = fabs(z) / (double)ETX_COMPLETION_FIELD_BIN - 0.5;
    const int32_t last = ETX_COMPLETION_N_FIELD - 1;

    if (!(bin > 0.0))
        return (double)completion->field[0];
    if (!(bin < (double)last))
        return (double)completion->field[last];
    const int32_t k = (int32_t)bin;
    const double low = (double)completion->field[k];
    return low + ((double)completion->field[k + 1] - low) * (bin - k);
}

double etx_completion_curvature(const struct etx_completion *completion,
    const struct etx_track_helix *helix, double z)
{
    const double field = field_at(completion, helix->z_middle);
    const double measured =
        fabs(field) < MIN_FIELD ? copysign(MIN_FIELD, field) : field;

    return helix->curvature * field_at(completion, z) / measured;
}

int32_t etx_completion_pt_bin(const struct etx_completion *completion,
    const struct etx_track_helix *helix)
{
    const double field =
        fmax(fabs(field_at(completion, helix->z_middle)), MIN_FIELD);
    const double pt =
        ETX_GEV_PER_T_MM * field / (fabs(helix->curvature) + MIN_CURVATURE);
    int32_t bin = 0;

    while (bin < ETX_COMPLETION_N_PT - 1 && pt >= pt_edges[bin])
        bin++;
    return bin;
}
