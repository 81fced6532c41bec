/* stage/track_fitting/fit.h -- parameters of tracks by least squares.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_FITTING_FIT_H
#define ETX_STAGE_TRACK_FITTING_FIT_H

#include <exatrkx/fit.h>

#include "backend/backend.h"
#include "data/detector.h"
#include "data/event.h"
#include "data/tracks.h"

#include "stage/track_fitting/path.h"

#define ETX_FIT_MAX_HITS 64 /* of a track that is fitted */

/* Parameters of every track, out [n_tracks]; is_outlier [hits of tracks] may be
 * NULL. The event has modules, all of them in the detector. */
etx_status etx_fit_parameters(etx_track_parameters *out, uint8_t *is_outlier,
    const struct etx_tracks *tracks, struct etx_context *context,
    const struct etx_event *event, const struct etx_detector *detector,
    const struct etx_path_field *field, const etx_fit_options *options);

#endif
