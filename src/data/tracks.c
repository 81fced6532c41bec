/* data/tracks.c -- lists of hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/tracks.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <string.h>

etx_status etx_tracks_create(
    struct etx_tracks **out, int64_t n_hits, int64_t n_tracks, int64_t n_listed)
{
    struct etx_tracks *made = NULL;
    etx_status status;

    ETX_NEW(made, 1, "tracks");
    made->n_hits = n_hits;
    ETX_NEW(made->offset, n_tracks + 1, "track offsets");
    ETX_NEW(made->hit, n_listed, "hits of tracks");
    *out = made;
    made = NULL;
done:
    etx_tracks_free(made);
    return status;
}

etx_status etx_tracks_copy_kept(struct etx_tracks **out,
    const struct etx_tracks *tracks, const uint8_t *keep, const uint8_t *drop)
{
    struct etx_tracks *made = NULL;
    int64_t n = 0;
    etx_status status;

    ETX_CHECK(etx_tracks_create(&made, tracks->n_hits, tracks->n_tracks,
        tracks->offset[tracks->n_tracks]));
    if (tracks->id != NULL)
        ETX_NEW(made->id, tracks->n_tracks, "ids of tracks");
    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        if (keep != NULL && keep[t] == 0)
            continue;
        if (made->id != NULL)
            made->id[made->n_tracks] = tracks->id[t];
        for (int64_t k = tracks->offset[t]; k < tracks->offset[t + 1]; k++)
            if (drop == NULL || drop[k] == 0)
                made->hit[n++] = tracks->hit[k];
        made->offset[++made->n_tracks] = n;
    }
    *out = made;
    made = NULL;
done:
    etx_tracks_free(made);
    return status;
}

int64_t etx_tracks_id(const struct etx_tracks *tracks, int64_t t)
{
    return tracks->id == NULL ? t + 1 : tracks->id[t];
}

/* Labels up to this many times the hits index a table. */
#define MAX_SPARSE 4

static int64_t highest_label(int64_t n_hits, const int32_t *labels)
{
    int64_t highest = -1;

    for (int64_t i = 0; i < n_hits; i++)
        highest = labels[i] > highest ? labels[i] : highest;
    return highest;
}

/* dense [n_hits]: the labels renumbered 0, 1, ... by size, so that a table of
 * n_hits entries is enough. */
static etx_status renumber(
    int32_t *dense, int64_t n_hits, const int32_t *labels)
{
    int64_t *keys = NULL;
    int32_t *order = NULL;
    int32_t next = -1;
    etx_status status = ETX_OK;

    ETX_NEW(keys, n_hits, "labels");
    ETX_NEW(order, n_hits, "order of labels");
    for (int64_t i = 0; i < n_hits; i++)
        keys[i] = labels[i];
    ETX_CHECK(etx_sort_order(order, keys, n_hits));
    for (int64_t k = 0; k < n_hits; k++) {
        const int64_t label = keys[order[k]];

        if (label >= 0 && (k == 0 || label != keys[order[k - 1]]))
            next++;
        dense[order[k]] = label < 0 ? -1 : next;
    }
done:
    etx_free(keys);
    etx_free(order);
    return status;
}

/* Number the groups that are large enough by their first hit: group
 * [n_labels] holds sizes before and track numbers or -1 after. offset
 * [n_hits + 1] gets where each track begins; returns the tracks. */
static int64_t number_groups(int64_t *offset, int64_t *group, int64_t n_labels,
    int64_t n_hits, const int32_t *labels, int32_t min_hits)
{
    int64_t n_tracks = 0;

    for (int64_t i = 0; i < n_hits; i++) {
        const int32_t label = labels[i];

        /* From its first hit on, a group holds ~(track number) < 0. */
        if (label < 0 || group[label] <= 0)
            continue;
        if (group[label] < min_hits) {
            group[label] = 0;
            continue;
        }
        offset[n_tracks + 1] = offset[n_tracks] + group[label];
        group[label] = ~n_tracks;
        n_tracks++;
    }
    for (int64_t label = 0; label < n_labels; label++)
        group[label] = group[label] < 0 ? ~group[label] : -1;
    return n_tracks;
}

/* offset [n_hits + 1], hit [n_hits], of which *n_tracks + 1 and offset
 * [*n_tracks] are used. */
static etx_status group_dense(struct etx_tracks *tracks, int64_t n_labels,
    const int32_t *labels, int32_t min_hits)
{
    int64_t *group = NULL;
    etx_status status = ETX_OK;
    const int64_t n_hits = tracks->n_hits;

    ETX_NEW(group, n_labels, "groups");
    for (int64_t i = 0; i < n_hits; i++)
        if (labels[i] >= 0)
            group[labels[i]]++;
    tracks->n_tracks = number_groups(
        tracks->offset, group, n_labels, n_hits, labels, min_hits);

    /* Fill with the offsets as cursors, then move them back by one track. */
    for (int64_t i = 0; i < n_hits; i++)
        if (labels[i] >= 0 && group[labels[i]] >= 0)
            tracks->hit[tracks->offset[group[labels[i]]]++] = (int32_t)i;
    memmove(tracks->offset + 1, tracks->offset,
        (size_t)tracks->n_tracks * sizeof *tracks->offset);
    tracks->offset[0] = 0;
done:
    etx_free(group);
    return status;
}

etx_status etx_tracks_group(struct etx_tracks **out, int64_t n_hits,
    const int32_t *labels, int32_t min_hits)
{
    struct etx_tracks *tracks = NULL;
    int32_t *dense = NULL;
    int64_t n_labels = highest_label(n_hits, labels) + 1;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_tracks_create(&tracks, n_hits, n_hits, n_hits));
    if (n_labels > n_hits * MAX_SPARSE) {
        ETX_NEW(dense, n_hits, "labels");
        ETX_CHECK(renumber(dense, n_hits, labels));
        labels = dense;
        n_labels = n_hits;
    }
    ETX_CHECK(group_dense(tracks, n_labels, labels, min_hits));
    *out = tracks;
    tracks = NULL;
done:
    etx_tracks_free(tracks);
    etx_free(dense);
    return status;
}

int32_t etx_count_labels(const int32_t *labels, int64_t n_hits)
{
    int32_t n = 0;

    for (int64_t i = 0; i < n_hits; i++)
        if (labels[i] >= n)
            n = labels[i] + 1;
    return n;
}

void etx_tracks_to_labels(int32_t *labels, const struct etx_tracks *tracks)
{
    for (int64_t i = 0; i < tracks->n_hits; i++)
        labels[i] = -1;
    for (int64_t t = tracks->n_tracks - 1; t >= 0; t--)
        for (int64_t k = tracks->offset[t]; k < tracks->offset[t + 1]; k++)
            labels[tracks->hit[k]] = (int32_t)t;
}

void etx_tracks_free(etx_tracks *tracks)
{
    if (tracks == NULL)
        return;
    etx_free(tracks->offset);
    etx_free(tracks->hit);
    etx_free(tracks->id);
    etx_free(tracks);
}
