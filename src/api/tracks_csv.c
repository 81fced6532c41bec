/* api/tracks_csv.c -- tracks to and from files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/tracks_csv.h"

#include "base/status.h"
#include "data/event.h"
#include "data/tracks.h"

#include <inttypes.h>

etx_status etx_tracks_write_csv(
    const etx_tracks *tracks, const etx_event *event, const char *path)
{
    if (tracks == NULL || event == NULL || path == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "etx_tracks_write_csv: %s is NULL",
            tracks == NULL  ? "tracks"
            : event == NULL ? "event"
                            : "path");
    if (tracks->n_hits != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "etx_tracks_write_csv: tracks of %" PRId64 " hits and an event of "
            "%" PRId64,
            tracks->n_hits, event->n_hits);
    return etx_tracks_csv_write(path, tracks, event);
}

etx_status etx_tracks_read_csv(
    etx_tracks **out, const etx_event *event, const char *path)
{
    if (out == NULL || event == NULL || path == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "etx_tracks_read_csv: %s is NULL",
            out == NULL     ? "out"
            : event == NULL ? "event"
                            : "path");
    return etx_tracks_csv_read(out, event, path);
}
