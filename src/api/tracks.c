/* api/tracks.c -- tracks from labels or lists, and getters of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/tracks.h"
#include "api/arguments.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

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
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: label %" PRId64 " is %d and may not be below -1", __func__,
                i, labels[i]);
    ETX_CHECK(etx_tracks_group(out, n_hits, labels, 1));
done:
    return etx_call_end(&host, status);
}

static etx_status check_offsets(
    const char *function, int64_t n_tracks, const int64_t *offsets)
{
    if (offsets[0] != 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: offset 0 is %" PRId64 " and not 0", function, offsets[0]);
    for (int64_t t = 0; t < n_tracks; t++)
        if (offsets[t + 1] < offsets[t])
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: offset %" PRId64 " is %" PRId64 ", less than the %" PRId64
                " before it",
                function, t + 1, offsets[t + 1], offsets[t]);
    return ETX_OK;
}

/* Every row is of the event, and once at most in a track. */
static etx_status check_lists(
    const char *function, const struct etx_tracks *tracks)
{
    int64_t *last = NULL; /* [n_hits] 1 + the last track with this hit */
    etx_status status;

    ETX_NEW(last, tracks->n_hits, "tracks of hits");
    for (int64_t t = 0; t < tracks->n_tracks; t++)
        for (int64_t k = tracks->offset[t]; k < tracks->offset[t + 1]; k++) {
            const int32_t hit = tracks->hit[k];

            if (hit < 0 || hit >= tracks->n_hits)
                ETX_FAIL(ETX_ERR_ARGUMENT,
                    "%s: hit %d of track %" PRId64 " is not in 0 to %" PRId64,
                    function, hit, t, tracks->n_hits - 1);
            if (last[hit] == t + 1)
                ETX_FAIL(ETX_ERR_ARGUMENT,
                    "%s: hit %d occurs twice in track %" PRId64, function, hit,
                    t);
            last[hit] = t + 1;
        }
done:
    etx_free(last);
    return status;
}

etx_status etx_tracks_from_lists(etx_tracks **out, int64_t n_hits,
    int64_t n_tracks, const int64_t *offsets, const int32_t *hits)
{
    etx_tracks *created = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_hits", n_hits));
    ETX_CHECK(etx_check_count(__func__, "n_tracks", n_tracks));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(offsets, n_tracks + 1, int64_t)));
    ETX_CHECK(check_offsets(__func__, n_tracks, offsets));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(hits, offsets[n_tracks], int32_t)));
    ETX_CHECK(etx_tracks_create(&created, n_hits, n_tracks, offsets[n_tracks]));
    created->n_tracks = n_tracks;
    memcpy(created->offset, offsets, (size_t)(n_tracks + 1) * sizeof *offsets);
    if (offsets[n_tracks] > 0)
        memcpy(created->hit, hits, (size_t)offsets[n_tracks] * sizeof *hits);
    ETX_CHECK(check_lists(__func__, created));
    *out = created;
    created = NULL;
done:
    etx_tracks_free(created);
    return etx_call_end(&host, status);
}

/* Not negative, and each once. */
static etx_status check_ids(
    const char *function, const int64_t *ids, int64_t n_tracks)
{
    int32_t *order = NULL;
    etx_status status;

    ETX_NEW(order, n_tracks, "order of ids");
    for (int64_t t = 0; t < n_tracks; t++)
        if (ids[t] < 0)
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: id %" PRId64 " is %" PRId64 " and may not be negative",
                function, t, ids[t]);
    ETX_CHECK(etx_sort_order(order, ids, n_tracks));
    for (int64_t k = 1; k < n_tracks; k++)
        if (ids[order[k - 1]] == ids[order[k]])
            ETX_FAIL(ETX_ERR_ARGUMENT, "%s: ids %d and %d are both %" PRId64,
                function, order[k - 1], order[k], ids[order[k]]);
done:
    etx_free(order);
    return status;
}

etx_status etx_tracks_set_ids(etx_tracks *tracks, const int64_t *ids)
{
    int64_t *copy = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(tracks), ETX_END));
    if (ids != NULL) {
        ETX_CHECK(etx_check_array(
            __func__, ETX_ARRAY(ids, tracks->n_tracks, int64_t)));
        ETX_CHECK(check_ids(__func__, ids, tracks->n_tracks));
        ETX_CHECK(etx_alloc_copy(
            &copy, ids, tracks->n_tracks, sizeof *copy, "ids of tracks"));
    }
    etx_free(tracks->id);
    tracks->id = copy;
done:
    return etx_call_end(&host, status);
}

ETX_GETTER(int64_t, etx_tracks_count, etx_tracks, n_tracks, 0)
ETX_GETTER(int64_t, etx_tracks_n_hits, etx_tracks, n_hits, 0)
ETX_GETTER(const int64_t *, etx_tracks_offsets, etx_tracks, offset, NULL)
ETX_GETTER(const int32_t *, etx_tracks_hits, etx_tracks, hit, NULL)
ETX_GETTER(const int64_t *, etx_tracks_ids, etx_tracks, id, NULL)
