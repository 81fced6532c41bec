/* api/tracks.c -- tracks from labels, and getters of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/tracks.h"
#include "api/arguments.h"
#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>

etx_status etx_tracks_from_labels(
    etx_tracks **out, int64_t n_hits, const int32_t *labels)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_hits", n_hits));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(labels, n_hits, int32_t)));
    for (int64_t i = 0; i < n_hits; i++)
        if (labels[i] < -1)
            ETX_CHECK(etx_fail(ETX_ERR_ARGUMENT,
                "%s: label %" PRId64 " is %d and may not be below -1", __func__,
                i, labels[i]));
    ETX_CHECK(etx_tracks_group(out, n_hits, labels, 1));
done:
    return etx_call_end(&host, status);
}

ETX_GETTER(int64_t, etx_tracks_count, etx_tracks, n_tracks, 0)
ETX_GETTER(int64_t, etx_tracks_n_hits, etx_tracks, n_hits, 0)
ETX_GETTER(const int64_t *, etx_tracks_offsets, etx_tracks, offset, NULL)
ETX_GETTER(const int32_t *, etx_tracks_hits, etx_tracks, hit, NULL)
