/* stage/completion/completion.h -- give found tracks the hits they lack.
 *
 * Graph networks lose single edges, so tracks miss hits, most of all at their
 * ends. From each end of a track a helix through its last three layers predicts
 * where the track crosses the layers that may follow. A hit without a track
 * near the prediction is added; where the prediction meets an end of another
 * track, the two are joined. All ends compete: the most certain step is taken
 * first, in rounds, until nothing changes.
 *
 * How near is near is learned (learn/completion.c): the residuals of true
 * tracks by direction, layer, next layer and transverse momentum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_COMPLETION_COMPLETION_H
#define ETX_STAGE_COMPLETION_COMPLETION_H

#include "backend/backend.h"
#include "data/event.h"
#include "stage/helix/layer_table.h"

struct etx_grid;

/* label [event->n_hits], -1 for hits of no track, others from 0 on: hits get
 * the label of the track they were added to; of joined tracks one label stays.
 * The event has layers; grid: its hits. Deterministic for any number of
 * threads. */
etx_status etx_complete_labels(int32_t *label, struct etx_context *context,
    const struct etx_grid *grid, const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event);

#endif
