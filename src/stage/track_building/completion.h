/* stage/track_building/completion.h -- give found tracks the hits they lack.
 *
 * Graph networks lose single edges, so tracks miss hits, most of all at their
 * ends. From each end of a track a helix through its last three layers predicts
 * where the track crosses the layers that may follow. A hit without a track
 * near the prediction is added; where the prediction meets an end of another
 * track, the two are joined. All ends compete: the most certain step is taken
 * first, in rounds, until nothing changes.
 *
 * How near is near is learned (train/completion): the residuals of true tracks
 * by direction, layer, next layer and transverse momentum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_BUILDING_COMPLETION_H
#define ETX_STAGE_TRACK_BUILDING_COMPLETION_H

#include "backend/backend.h"
#include "base/constants.h"
#include "data/event.h"
#include "stage/track_building/completion_table.h"
#include "stage/track_building/track_helix.h"

#include <math.h>

struct etx_grid;

/* The layer of every hit, or -1: layer [event->n_hits]. */
void etx_completion_layers(int32_t *layer,
    const struct etx_completion *completion, const struct etx_event *event);

/* The helix at the end of hit [n_hits], which lead to that end; for
 * ETX_HELIX_BEAM towards the beam line. layer is by hit of the event. false:
 * fewer than three layers, or no such helix. */
bool etx_completion_helix(struct etx_track_helix *out, int32_t kind,
    const float *position, const int32_t *layer, const int32_t *hit,
    int32_t n_hits);

#define ETX_COMPLETION_MIN_FIELD                                               \
    0.25                       /* T: below it the bending tells little         \
                                */
#define ETX_MIN_CURVATURE 1e-9 /* 1/mm */

/* The bending field at z, T, interpolated between the middles of bins. Without
 * branches, as all of these are in loops over many helices. */
static inline double etx_completion_field(
    const struct etx_completion *completion, double z)
{
    const double last = ETX_COMPLETION_N_FIELD - 1;
    const double bin = fabs(z) / (double)ETX_COMPLETION_FIELD_BIN - 0.5;
    const double at = bin > 0.0 ? (bin < last ? bin : last) : 0.0;
    const int32_t k = (int32_t)at;
    const double low = (double)completion->field[k];
    const double high =
        (double)completion->field[k + (k < ETX_COMPLETION_N_FIELD - 1)];

    return low + (high - low) * (at - k);
}

/* The field where the curvature of a helix was measured, T; not near 0. */
static inline double etx_completion_measured_field(
    const struct etx_completion *completion,
    const struct etx_track_helix *helix)
{
    const double field = etx_completion_field(completion, helix->z_middle);

    return fabs(field) < ETX_COMPLETION_MIN_FIELD
               ? copysign(ETX_COMPLETION_MIN_FIELD, field)
               : field;
}

/* Curvature near z of a helix: it follows the bending field. */
static inline double etx_completion_curvature_in(
    const struct etx_completion *completion,
    const struct etx_track_helix *helix, double measured_field, double z)
{
    return helix->curvature * etx_completion_field(completion, z) /
           measured_field;
}

static inline double etx_completion_curvature(
    const struct etx_completion *completion,
    const struct etx_track_helix *helix, double z)
{
    return etx_completion_curvature_in(
        completion, helix, etx_completion_measured_field(completion, helix), z);
}

/* The bin of its transverse momentum. */
static inline int32_t etx_completion_pt_bin_in(
    const struct etx_track_helix *helix, double measured_field)
{
    const double pt = ETX_GEV_PER_T_MM * fabs(measured_field) /
                      (fabs(helix->curvature) + ETX_MIN_CURVATURE);

    /* Lower edges of the bins but the first, GeV. */
    return (pt >= 0.15) + (pt >= 0.25) + (pt >= 0.4) + (pt >= 0.7) +
           (pt >= 1.3);
}

static inline int32_t etx_completion_pt_bin(
    const struct etx_completion *completion,
    const struct etx_track_helix *helix)
{
    return etx_completion_pt_bin_in(
        helix, etx_completion_measured_field(completion, helix));
}

/* label [event->n_hits], -1 for hits of no track, others from 0 on: hits get
 * the label of the track they were added to; of joined tracks one label stays.
 * The event has layers; grid: its hits. Deterministic for any number of
 * threads. */
etx_status etx_complete_labels(int32_t *label, struct etx_context *context,
    const struct etx_grid *grid, const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event);

#endif
