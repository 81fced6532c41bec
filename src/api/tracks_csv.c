/* api/tracks_csv.c -- tracks to and from files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/tracks_csv.h"

#include "api/arguments.h"
#include "base/check.h"
#include "base/status.h"
#include "data/event.h"
#include "data/tracks.h"

#include <inttypes.h>

etx_status etx_tracks_write_csv(
    const etx_tracks *tracks, const etx_event *event, const char *path)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "tracks", tracks));
    ETX_CHECK(etx_check_given(__func__, "event", event));
    ETX_CHECK(etx_check_given(__func__, "path", path));
    if (tracks->n_hits != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: tracks of %" PRId64 " hits and an event of %" PRId64, __func__,
            tracks->n_hits, event->n_hits);
    ETX_CHECK(etx_tracks_csv_write(path, tracks, event));
done:
    return status;
}

etx_status etx_tracks_read_csv(
    etx_tracks **out, const etx_event *event, const char *path)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_given(__func__, "event", event));
    ETX_CHECK(etx_check_given(__func__, "path", path));
    ETX_CHECK(etx_tracks_csv_read(out, event, path));
done:
    return status;
}
