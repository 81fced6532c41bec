/* api/tracks.c -- tracks from labels and views of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/tracks.h"
#include "api/arguments.h"
#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdalign.h>

etx_status etx_tracks_from_labels(
    etx_tracks **out, int64_t n_hits, const int32_t *labels)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_count(__func__, "n_hits", n_hits));
    ETX_CHECK(
        etx_check_array(__func__, "labels", labels, n_hits, alignof(int32_t)));
    for (int64_t i = 0; i < n_hits; i++)
        if (labels[i] < -1)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: label %" PRId64 " is %d and may not be below -1", __func__,
                i, labels[i]);
    ETX_CHECK(etx_tracks_group(out, n_hits, labels, 1));
done:
    return status;
}

int64_t etx_tracks_count(const etx_tracks *tracks)
{
    return tracks == NULL ? 0 : tracks->n_tracks;
}

int64_t etx_tracks_n_hits(const etx_tracks *tracks)
{
    return tracks == NULL ? 0 : tracks->n_hits;
}

const int64_t *etx_tracks_offsets(const etx_tracks *tracks)
{
    return tracks == NULL ? NULL : tracks->offset;
}

const int32_t *etx_tracks_hits(const etx_tracks *tracks)
{
    return tracks == NULL ? NULL : tracks->hit;
}
