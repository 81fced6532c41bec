/* io/tracks_csv.h -- tracks in TrackML's submission form.
 *
 * Columns hit_id and track_id; track_id 0 stands for no track, or -1 does: then
 * 0 is a track. A hit of several tracks has a row for each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_TRACKS_CSV_H
#define ETX_IO_TRACKS_CSV_H

#include "base/status.h"

/* A row at least for every hit of the event, in its order. */
etx_status etx_tracks_csv_write(
    const etx_tracks *tracks, const etx_event *event, const char *path);

/* Any track ids from -1 on, which the tracks keep. Of a file with event_id the
 * rows of the event's number; several events where that is unknown, and none of
 * the number, are ETX_ERR_FORMAT. */
etx_status etx_tracks_csv_read(
    etx_tracks **out, const etx_event *event, const char *path);

#endif
