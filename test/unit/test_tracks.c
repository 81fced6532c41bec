/* test_tracks.c -- labels to lists of hits and back.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/random.h"
#include "base/sort.h"
#include "data/tracks.h"

#define MAX_HITS 60

/* Labels, and the tracks that they stand for as text: "0 2|1 3". */
static const struct {
    int32_t n_hits;
    int32_t min_hits;
    int32_t labels[8];
    int32_t n_tracks;
    int32_t offsets[5];
    int32_t hits[8];
} known[] = {
    {0, 1, {0}, 0, {0}, {0}},
    {3, 1, {-1, -1, -1}, 0, {0}, {0}},
    {4, 1, {5, 2, 5, 2}, 2, {0, 2, 4}, {0, 2, 1, 3}},
    {4, 1, {INT32_MAX, 0, INT32_MAX, -1}, 2, {0, 2, 3}, {0, 2, 1}},
    {6, 2, {9, 8, 7, 8, 7, 8}, 2, {0, 3, 5}, {1, 3, 5, 2, 4}},
    {6, 3, {9, 8, 7, 8, 7, 8}, 1, {0, 3}, {1, 3, 5}},
    {6, 4, {9, 8, 7, 8, 7, 8}, 0, {0}, {0}},
    {8, 1, {1000000, 3, 1000000, 3, 0, 3, -1, 2000000000}, 4, {0, 2, 5, 6, 7},
        {0, 2, 1, 3, 5, 4, 7}},
};

ETX_TEST(test_tracks_known, .rows = ROWS(known))
{
    scoped_tracks *tracks = NULL;

    ck_assert_ok(etx_tracks_group(
        &tracks, known[_i].n_hits, known[_i].labels, known[_i].min_hits));
    ck_assert_int_eq(etx_tracks_n_hits(tracks), known[_i].n_hits);
    ck_assert_int_eq(etx_tracks_count(tracks), known[_i].n_tracks);
    for (int32_t t = 0; t <= known[_i].n_tracks; t++)
        ck_assert_int_eq(etx_tracks_offsets(tracks)[t], known[_i].offsets[t]);
    for (int32_t k = 0; k < known[_i].offsets[known[_i].n_tracks]; k++)
        ck_assert_int_eq(etx_tracks_hits(tracks)[k], known[_i].hits[k]);
}

/* The properties that define grouping, on random labels. */
/* One more than the largest label. */
ETX_TEST(test_tracks_count_of_labels)
{
    static const int32_t labels[] = {-1, 2, 0, 5, -1, 1};

    ck_assert_int_eq(etx_count_labels(labels, 1), 0);
    ck_assert_int_eq(etx_count_labels(labels, 3), 3);
    ck_assert_int_eq(etx_count_labels(labels, 6), 6);
}

ETX_TEST(test_tracks_random)
{
    struct etx_random random;

    etx_random_init(&random, 12, 0, 0);
    for (int round = 0; round < 300; round++) {
        const int32_t n = (int32_t)etx_random_below(&random, MAX_HITS);
        const uint64_t spread = round % 2 == 0 ? 20 : INT32_MAX;
        int32_t labels[MAX_HITS], back[MAX_HITS];
        scoped_tracks *tracks = NULL;

        for (int32_t i = 0; i < n; i++)
            labels[i] = (int32_t)etx_random_below(&random, spread) - 1;
        for (int32_t i = 1; i < n && round % 2 == 1; i++)
            if (etx_random_below(&random, 2) == 0)
                labels[i] = labels[i - 1];
        ck_assert_ok(etx_tracks_from_labels(&tracks, n, labels));
        etx_tracks_to_labels(back, tracks);
        for (int32_t i = 0; i < n; i++) {
            ck_assert_int_eq(back[i] < 0, labels[i] < 0);
            for (int32_t j = 0; j < i; j++)
                if (labels[i] >= 0 && labels[j] >= 0)
                    ck_assert_int_eq(
                        labels[i] == labels[j], back[i] == back[j]);
        }
        for (int64_t t = 0; t < tracks->n_tracks; t++) {
            const int32_t *hit = tracks->hit + tracks->offset[t];
            const int64_t n_hit = tracks->offset[t + 1] - tracks->offset[t];

            ck_assert_int_ge(n_hit, 1);
            ck_assert(t == 0 || tracks->hit[tracks->offset[t - 1]] < hit[0]);
            for (int64_t k = 1; k < n_hit; k++)
                ck_assert_int_lt(hit[k - 1], hit[k]);
        }
    }
}

/* A hit of two tracks gets the first. */
ETX_TEST(test_tracks_shared_hits)
{
    int64_t offsets[] = {0, 3, 6};
    int32_t hits[] = {0, 1, 2, 2, 3, 0};
    const struct etx_tracks tracks = {
        .n_hits = 5, .n_tracks = 2, .offset = offsets, .hit = hits};
    int32_t labels[5];

    etx_tracks_to_labels(labels, &tracks);
    ck_assert_mem_eq(labels, ((int32_t[]){0, 0, 0, 1, -1}), sizeof labels);
}

ETX_TEST(test_tracks_refused)
{
    const int32_t labels[] = {0, -2, 1};
    etx_tracks *tracks = NULL;

    ck_assert_refused(etx_tracks_from_labels(&tracks, -1, labels), "n_hits -1");
    ck_assert_fails(etx_tracks_from_labels(&tracks, INT64_C(1) << 31, labels),
        ETX_ERR_LIMIT, "n_hits 2147483648");
    ck_assert_refused(
        etx_tracks_from_labels(&tracks, 3, labels), "label 1 is -2");
    ck_assert_ptr_null(tracks);
}

/* Lists are kept as they are: shared hits, empty tracks, any order. */
ETX_TEST(test_tracks_lists)
{
    static const int64_t offsets[] = {0, 3, 3, 5};
    static const int32_t hits[] = {4, 0, 2, 2, 3};
    scoped_tracks *tracks = NULL;
    scoped_tracks *none = NULL;

    ck_assert_ok(etx_tracks_from_lists(&tracks, 5, 3, offsets, hits));
    ck_assert_int_eq(etx_tracks_n_hits(tracks), 5);
    ck_assert_int_eq(etx_tracks_count(tracks), 3);
    ck_assert_mem_eq(etx_tracks_offsets(tracks), offsets, sizeof offsets);
    ck_assert_mem_eq(etx_tracks_hits(tracks), hits, sizeof hits);
    ck_assert_ok(etx_tracks_from_lists(&none, 5, 0, offsets, NULL));
    ck_assert_int_eq(etx_tracks_count(none), 0);
}

static const struct {
    int64_t n_hits, n_tracks, offsets[3];
    int32_t hits[3];
    const char *error;
} bad_lists[] = {
    {-1, 2, {0, 1, 3}, {0, 1, 2}, "n_hits -1"},
    {4, -1, {0, 1, 3}, {0, 1, 2}, "n_tracks -1"},
    {4, 2, {1, 1, 3}, {0, 1, 2}, "offset 0 is 1 and not 0"},
    {4, 2, {0, 2, 1}, {0, 1, 2}, "offset 2 is 1, less than the 2 before it"},
    {2, 2, {0, 1, 3}, {0, 1, 2}, "hit 2 of track 1 is not in 0 to 1"},
    {4, 2, {0, 1, 3}, {0, -1, 2}, "hit -1 of track 1"},
    {4, 2, {0, 1, 3}, {0, 2, 2}, "hit 2 occurs twice in track 1"},
};

ETX_TEST(test_tracks_bad_lists, .rows = ROWS(bad_lists))
{
    etx_tracks *tracks = NULL;

    ck_assert_refused(
        etx_tracks_from_lists(&tracks, bad_lists[_i].n_hits,
            bad_lists[_i].n_tracks, bad_lists[_i].offsets, bad_lists[_i].hits),
        bad_lists[_i].error);
    ck_assert_ptr_null(tracks);
}

ETX_TEST(test_tracks_sort_order)
{
    struct etx_random random;
    static int64_t keys[5000];
    static int32_t order[5000];

    etx_random_init(&random, 13, 0, 0);
    for (int bits = 1; bits <= 64; bits += 7) {
        for (int i = 0; i < 5000; i++) {
            const uint64_t high = etx_random_u32(&random);
            const uint64_t key = high << 32 | etx_random_u32(&random);

            keys[i] = (int64_t)(key >> (64 - bits));
        }
        ck_assert_ok(etx_sort_order(order, keys, 5000));
        for (int i = 1; i < 5000; i++)
            ck_assert(keys[order[i - 1]] < keys[order[i]] ||
                      (keys[order[i - 1]] == keys[order[i]] &&
                          order[i - 1] < order[i]));
    }
    ck_assert_ok(etx_sort_order(order, keys, 0));
}
