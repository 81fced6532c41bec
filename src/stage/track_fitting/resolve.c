/* stage/track_fitting/resolve.c -- which of the tracks that share hits stay.
 *
 * Greedy, best track first, as in the ambiguity resolution of ATLAS
 * (Cornelissen et al., J. Phys. Conf. Ser. 119 (2008) 032014): a track that
 * shares too many hits with better ones loses these hits, and goes when too few
 * are left.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/resolve.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

/* Smaller is better: more hits less holes, then chi2 per degree of freedom.
 * Tracks that were not fitted come last. */
static int64_t rank_of(int64_t n_hits, const etx_track_parameters *parameters)
{
    if (parameters->n_degrees <= 0)
        return INT64_MAX;
    return (parameters->n_holes - n_hits) * (INT64_C(1) << 32) +
           etx_sort_key((float)(parameters->chi2 / parameters->n_degrees));
}

/* Write to hit the hits with which track t stays, and mark them as used;
 * returns how many. */
static int64_t keep_hits(int32_t *hit, uint8_t *is_used,
    const struct etx_tracks *tracks, int64_t t, int32_t max_shared,
    int32_t min_hits)
{
    const int64_t begin = tracks->offset[t];
    const int64_t end = tracks->offset[t + 1];
    int64_t n_shared = 0;
    int64_t n = 0;

    for (int64_t k = begin; k < end; k++)
        n_shared += is_used[tracks->hit[k]];
    for (int64_t k = begin; k < end; k++)
        if (n_shared <= max_shared || !is_used[tracks->hit[k]])
            hit[n++] = tracks->hit[k];
    if (n < min_hits)
        return 0;
    for (int64_t k = 0; k < n; k++)
        is_used[hit[k]] = 1;
    return n;
}

/* out: tracks in their old order, track t with the first count[t] hits of its
 * part of hit, without those that have none. */
static void fill(struct etx_tracks *out, const struct etx_tracks *tracks,
    const int32_t *hit, const int64_t *count)
{
    int64_t n = 0;

    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        if (count[t] == 0)
            continue;
        for (int64_t k = 0; k < count[t]; k++)
            out->hit[n++] = hit[tracks->offset[t] + k];
        if (out->id != NULL)
            out->id[out->n_tracks] = tracks->id[t];
        out->offset[++out->n_tracks] = n;
    }
}

static etx_status resolve(struct etx_tracks *out,
    const struct etx_tracks *tracks, const etx_track_parameters *parameters,
    int32_t max_shared, int32_t min_hits)
{
    const int64_t n = tracks->n_tracks;
    int64_t *value = NULL; /* ranks of the tracks, then their numbers of hits */
    int32_t *order = NULL;
    int32_t *hit = NULL;
    uint8_t *is_used = NULL;
    etx_status status;

    ETX_NEW(value, n, "ranks of tracks");
    ETX_NEW(order, n, "order of tracks");
    ETX_NEW(hit, tracks->offset[n], "hits");
    ETX_NEW(is_used, tracks->n_hits, "hits of tracks");
    for (int64_t t = 0; t < n; t++)
        value[t] =
            rank_of(tracks->offset[t + 1] - tracks->offset[t], &parameters[t]);
    ETX_CHECK(etx_sort_order(order, value, n));
    for (int64_t k = 0; k < n; k++) {
        const int64_t t = order[k];

        value[t] = keep_hits(
            hit + tracks->offset[t], is_used, tracks, t, max_shared, min_hits);
    }
    fill(out, tracks, hit, value);
done:
    etx_free(value);
    etx_free(order);
    etx_free(hit);
    etx_free(is_used);
    return status;
}

etx_status etx_resolve_tracks(struct etx_tracks **out,
    const struct etx_tracks *tracks, const etx_track_parameters *parameters,
    int32_t max_shared, int32_t min_hits)
{
    struct etx_tracks *made = NULL;
    etx_status status;

    ETX_CHECK(etx_tracks_create(&made, tracks->n_hits, tracks->n_tracks,
        tracks->offset[tracks->n_tracks]));
    if (tracks->id != NULL)
        ETX_NEW(made->id, tracks->n_tracks, "ids of tracks");
    ETX_CHECK(resolve(made, tracks, parameters, max_shared, min_hits));
    *out = made;
    made = NULL;
done:
    etx_tracks_free(made);
    return status;
}
