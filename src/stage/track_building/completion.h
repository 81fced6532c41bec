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
#include "data/event.h"
#include "stage/track_building/completion_table.h"
#include "stage/track_building/track_helix.h"

/* The layer of every hit, or -1: layer [event->n_hits]. */
void etx_completion_layers(int32_t *layer,
    const struct etx_completion *completion, const struct etx_event *event);

/* The helix at the end of hit [n_hits], which lead to that end; for
 * ETX_HELIX_BEAM towards the beam line. layer is by hit of the event. false:
 * fewer than three layers, or no such helix. */
bool etx_completion_helix(struct etx_track_helix *out, int32_t kind,
    const float *position, const int32_t *layer, const int32_t *hit,
    int32_t n_hits);

/* Curvature near z of a helix: it follows the bending field. */
double etx_completion_curvature(const struct etx_completion *completion,
    const struct etx_track_helix *helix, double z);

/* The bin of its transverse momentum. */
int32_t etx_completion_pt_bin(const struct etx_completion *completion,
    const struct etx_track_helix *helix);

/* label [event->n_hits], -1 for hits of no track, others from 0 on: hits get
 * the label of the track they were added to; of joined tracks one label stays.
 * The event has layers. Deterministic for any number of threads. */
etx_status etx_complete_labels(int32_t *label, struct etx_context *context,
    const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event);

#endif
