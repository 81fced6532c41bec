/* stage/track_fitting/resolve.h -- which of the tracks that share hits stay.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_FITTING_RESOLVE_H
#define ETX_STAGE_TRACK_FITTING_RESOLVE_H

#include <exatrkx/fit.h>

#include "data/tracks.h"

/* As etx_tracks_resolve, parameters [n_tracks] with finite chi2. */
etx_status etx_resolve_tracks(struct etx_tracks **out,
    const struct etx_tracks *tracks, const etx_track_parameters *parameters,
    int32_t max_shared, int32_t min_hits);

#endif
