/* io/tracks_csv.h -- tracks in TrackML's submission form.
 *
 * Columns hit_id and track_id; track_id 0 stands for no track. A hit of several
 * tracks has a row for each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_TRACKS_CSV_H
#define ETX_IO_TRACKS_CSV_H

#include "base/status.h"

/* A row at least for every hit of the event, in its order; tracks are numbered
 * from one. */
etx_status etx_tracks_csv_write(
    const etx_tracks *tracks, const etx_event *event, const char *path);

/* Any track ids that are not negative. */
etx_status etx_tracks_csv_read(
    etx_tracks **out, const etx_event *event, const char *path);

#endif
