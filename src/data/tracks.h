/* data/tracks.h -- lists of hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_TRACKS_H
#define ETX_DATA_TRACKS_H

#include <exatrkx/exatrkx.h>

struct etx_tracks {
    int64_t n_hits; /* of the event */
    int64_t n_tracks;
    int64_t *offset; /* [n_tracks + 1] */
    int32_t *hit;    /* [offset[n_tracks]] rows of the event */
    int64_t *id;     /* [n_tracks] of the file, not negative; NULL: 1, 2, ... */
};

/* No tracks yet, but memory for n_tracks of n_listed hits together. */
etx_status etx_tracks_create(struct etx_tracks **out, int64_t n_hits,
    int64_t n_tracks, int64_t n_listed);

/* The tracks with keep [n_tracks] not 0, without the hits with drop [as many as
 * hits of tracks] not 0; NULL: all tracks, all hits. */
etx_status etx_tracks_copy_kept(struct etx_tracks **out,
    const struct etx_tracks *tracks, const uint8_t *keep, const uint8_t *drop);

/* id of track t of tracks, in a file. */
int64_t etx_tracks_id(const struct etx_tracks *tracks, int64_t t);

/* labels [n_hits], -1 = none, others >= 0 in any order and with gaps: tracks
 * are numbered by smallest hit; groups below min_hits are dropped; hits
 * ascend within a track. */
etx_status etx_tracks_group(struct etx_tracks **out, int64_t n_hits,
    const int32_t *labels, int32_t min_hits);

/* One more than the largest of labels [n_hits]. */
int32_t etx_count_labels(const int32_t *labels, int64_t n_hits);

/* labels [n_hits] of the tracks; a hit of two tracks gets the first. */
void etx_tracks_to_labels(int32_t *labels, const struct etx_tracks *tracks);

#endif
