/* eval/matching.h -- which track found which particle.
 *
 * The definitions are in docs/evaluation.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EVAL_MATCHING_H
#define ETX_EVAL_MATCHING_H

#include <exatrkx/eval.h>

#include "data/event.h"
#include "data/tracks.h"

#include <stdbool.h>

/* Tracks against particles of one event. Arrays are from etx_alloc. */
struct etx_matching {
    int32_t *hits_of_particle; /* [n_particles] in the event */
    int32_t *n_majority; /* [n_tracks] most hits of one particle in the track */
    int32_t *particle;   /* [n_tracks] row of the matched particle, or -1 */
    uint8_t *is_matched; /* [n_particles] 1 when some track matches */
};

/* The event carries truth, the tracks are of the event, options are valid.
 * On failure nothing is left behind. */
etx_status etx_match_tracks(struct etx_matching *out,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options);
void etx_matching_release(struct etx_matching *matching);

/* Long enough to be looked at? */
int32_t etx_track_is_counted(const struct etx_tracks *tracks, int64_t t,
    const etx_evaluation_options *options);

/* Has one particle more than the fraction of the track's hits? */
bool etx_track_has_majority(const struct etx_matching *matching,
    const struct etx_tracks *tracks, int64_t t, float fraction);

int32_t etx_particle_is_selected(
    const etx_particle *particle, const etx_evaluation_options *options);

#endif
