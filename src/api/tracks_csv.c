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
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(tracks),
        ETX_GIVEN(event), ETX_GIVEN(path), ETX_END));
    if (tracks->n_hits != event->n_hits)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "%s: tracks of %" PRId64 " hits and an event of %" PRId64, __func__,
            tracks->n_hits, event->n_hits);
    ETX_CHECK(etx_tracks_csv_write(tracks, event, path));
done:
    return etx_call_end(&host, status);
}

etx_status etx_tracks_read_csv(
    etx_tracks **out, const etx_event *event, const char *path)
{
    ETX_FORWARD(etx_tracks_csv_read(out, event, path), ETX_GIVEN(out),
        ETX_GIVEN(event), ETX_GIVEN(path));
}
