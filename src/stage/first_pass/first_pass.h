/* stage/first_pass/first_pass.h -- long tracks from the beam line, before the
 * networks.
 *
 * README.md says how.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_FIRST_PASS_FIRST_PASS_H
#define ETX_STAGE_FIRST_PASS_FIRST_PASS_H

#include "backend/backend.h"
#include "data/event.h"
#include "stage/first_pass/first_pass_table.h"
#include "stage/helix/grid.h"
#include "stage/helix/track_helix.h"

/* label [event->n_hits]: tracks from 0 on, -1 for the other hits; *n_tracks of
 * them. The event has modules. Deterministic for any number of threads. */
etx_status etx_first_pass_find(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_first_pass *first_pass,
    const struct etx_completion *completion,
    const etx_first_pass_options *options, const struct etx_event *event);

/* Give tracks, label [event->n_hits], the hits of no track that lie between
 * theirs or next to one on the same layer; the first track wins. Tracks 0 ..
 * n_filled - 1 stay as they are. grid: of the event, any filling. */
etx_status etx_tracks_fill(int32_t *label, int32_t n_filled,
    struct etx_context *context, const struct etx_grid *grid,
    const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event);

/* Tracks from anywhere among the hits of no track, with the labels after those
 * of label [event->n_hits]. options->min_layers is above 0. */
etx_status etx_new_tracks_find(int32_t *label, struct etx_context *context,
    const struct etx_grid *grid, const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event);

/* The helix at hit b [3] of a track from the beam line through a and b; *z: its
 * z at the beam line. false: there is none, or a and b are one point. */
bool etx_seed_helix(
    struct etx_track_helix *out, double *z, const float *a, const float *b);

#endif
