/* test_eval_score.c -- the TrackML score.
 *
 * By hand, and against a judge that compares every track with every particle.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "eval_events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define END END_OF_TRACK

static double score_of(const etx_event *event, const etx_tracks *tracks)
{
    etx_evaluation_counts counts = {.struct_size = sizeof counts};

    ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    return counts.trackml_score_sum;
}

/* ------------------------------------------------------------- by hand -- */

/* Hits 0-3 of particle 1, 4-6 of particle 2, 7-8 noise. Sixteenths: the sum
 * is one. */
static const int64_t ids[] = {1, 1, 1, 1, 2, 2, 2, 0, 0};
static const float weights[] = {
    0.125f, 0.0625f, 0.0625f, 0.25f, 0.25f, 0.125f, 0.125f, 0.0f, 0.0f};

struct row {
    const char *name;
    int32_t n_tracks;
    int32_t hits[24];
    double score;
};

static const struct row rows[] = {
    {"none", 0, {END}, 0.0},
    {"all", 2, {0, 1, 2, 3, END, 4, 5, 6, END}, 1.0},
    {"all and noise", 3, {0, 1, 2, 3, END, 4, 5, 6, END, 7, 8, END}, 1.0},
    {"all in one", 1, {0, 1, 2, 3, 4, 5, 6, END}, 0.5},
    {"one track per hit", 4, {0, END, 1, END, 2, END, 3, END}, 0.0},
    /* Three hits of four count, and only their weights. */
    {"one hit short", 1, {0, 1, 2, END}, 0.25},
    {"one other hit", 1, {1, 2, 3, 7, END}, 0.375},
    /* Exactly half is not more than half, on either side. */
    {"half of the particle", 1, {2, 3, END}, 0.0},
    {"half of the track", 1, {4, 5, 7, 8, END}, 0.0},
    {"half of each other", 2, {0, 1, 4, 7, END, 2, 3, 5, 6, END}, 0.0},
    {"two of three", 1, {4, 5, END}, 0.375},
    {"noise counts in the track", 1, {4, 5, 6, 7, 8, END}, 0.5},
    /* A shared hit is of the first track only. */
    {"shared, first", 2, {0, 1, 2, END, 2, 3, 7, END}, 0.25},
    {"shared, second empty", 2, {0, 1, 2, 3, END, 0, 1, 2, 3, END}, 0.5},
    {"shared, second gains", 2, {3, 7, 8, END, 3, 4, 5, 6, END}, 0.5},
    {"shared, second loses", 2, {4, 0, END, 4, 5, 1, END}, 0.0},
};

ETX_TEST(test_eval_score_by_hand, .rows = ROWS(rows))
{
    static const etx_particle particles[] = {{.id = 1}, {.id = 2}};
    const struct row *row = &rows[_i];
    scoped_event *event = new_truth_event(9, ids, weights, 2, particles);
    scoped_tracks *tracks = new_track_list(9, row->n_tracks, row->hits);

    ck_assert_msg(score_of(event, tracks) == row->score,
        "%s: %.17g and not %.17g", row->name, score_of(event, tracks),
        row->score);
}

/* Weights are relative to their sum; all zero is no score; without
 * weights every hit counts the same, noise too. */
ETX_TEST(test_eval_score_weights)
{
    static const etx_particle particles[] = {{.id = 1}, {.id = 2}};
    static const int32_t hits[] = {0, 1, 2, END};
    const float zero[9] = {0};
    float large[9];
    const float *const weighted[] = {zero, large, NULL};
    const double expected[] = {0.0, 0.25, 3.0 / 9.0};
    scoped_tracks *tracks = new_track_list(9, 1, hits);

    for (int i = 0; i < 9; i++)
        large[i] = 1024.0f * weights[i];
    for (int k = 0; k < 3; k++) {
        scoped_event *event =
            new_truth_event(9, ids, weighted[k], 2, particles);

        ck_assert(fabs(score_of(event, tracks) - expected[k]) <=
                  (k == 2 ? 1e-7 : 0.0));
    }
}

/* ------------------------------------------------------------ the judge -- */

/* The track of a hit in a submission: the first that holds it, or -1. */
static int64_t track_of(const etx_tracks *tracks, int64_t hit)
{
    for (int64_t t = 0; t < etx_tracks_count(tracks); t++)
        if (track_has(tracks, t, hit))
            return t;
    return -1;
}

static double judge_score(
    const etx_event *event, const etx_tracks *tracks, const float *weight)
{
    const int64_t n_hits = etx_event_n_hits(event);
    double total = 0.0;
    double score = 0.0;

    for (int64_t i = 0; i < n_hits; i++)
        total += (double)weight[i];
    for (int64_t t = 0; t < etx_tracks_count(tracks); t++)
        for (int64_t id = 1; id <= etx_event_n_particles(event); id++) {
            int64_t n_track = 0;
            int64_t n_particle = 0;
            int64_t n_shared = 0;
            double shared = 0.0;

            for (int64_t i = 0; i < n_hits; i++) {
                const int is_mine = track_of(tracks, i) == t;
                const int is_its = hit_is_of(event, i, id);

                n_track += is_mine;
                n_particle += is_its;
                n_shared += is_mine && is_its;
                shared += is_mine && is_its ? (double)weight[i] : 0;
            }
            if (2 * n_shared > n_track && 2 * n_shared > n_particle)
                score += shared;
        }
    return score / total;
}

ETX_TEST(test_eval_score_judged, .rows = 20)
{
    const int64_t n_hits = 80;
    int64_t random_ids[80];
    float weight[80];
    etx_particle particles[8];
    scoped_event *pattern = new_random_event(n_hits, 8, (uint32_t)_i);
    scoped_tracks *tracks = new_random_tracks(pattern, 12, (uint32_t)_i);
    scoped_event *event = NULL;

    for (int64_t i = 0; i < n_hits; i++) {
        random_ids[i] = etx_event_particle_ids(pattern)[i];
        weight[i] = (float)((i * 37 + _i) % 11);
    }
    for (int p = 0; p < 8; p++)
        particles[p] = etx_event_particles(pattern)[p];
    event = new_truth_event(n_hits, random_ids, weight, 8, particles);
    ck_assert_ok(etx_event_set_shared_hits(event,
        etx_event_n_shared_hits(pattern), etx_event_shared_hits(pattern),
        etx_event_shared_particle_ids(pattern)));
    ck_assert_double_eq_tol(
        score_of(event, tracks), judge_score(event, tracks, weight), 1e-14);
}

/* --------------------------------------------------------- whole events -- */

/* The tracks of the truth: every particle found, a score of one. */
static void assert_truth_scores_one(const char *prefix)
{
    scoped_event *event = NULL;
    scoped_tracks *tracks = NULL;
    etx_evaluation_counts counts = {.struct_size = sizeof counts};

    ck_assert_ok(etx_event_read_trackml(&event, prefix, NULL));
    const int64_t n_hits = etx_event_n_hits(event);
    const etx_particle *particles = etx_event_particles(event);
    scoped int32_t *labels = etx_test_alloc(n_hits, sizeof *labels);
    for (int64_t i = 0; i < n_hits; i++) {
        const int64_t id = etx_event_particle_ids(event)[i];

        labels[i] = -1;
        for (int32_t p = 0; p < etx_event_n_particles(event) && id != 0; p++)
            if (particles[p].id == id)
                labels[i] = p;
    }
    ck_assert_ok(etx_tracks_from_labels(&tracks, n_hits, labels));
    ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    ck_assert_int_gt(counts.n_particles_reconstructable, 20);
    ck_assert_int_eq(
        counts.n_reconstructable_matched, counts.n_particles_reconstructable);
    ck_assert_int_gt(counts.n_tracks, 20);
    ck_assert_int_eq(counts.n_tracks_matched, counts.n_tracks);
    ck_assert_int_eq(counts.n_tracks_fake + counts.n_tracks_duplicate, 0);
    ck_assert_double_eq_tol(counts.trackml_score_sum, 1.0, 1e-12);
}

/* Bits 24 to 35 of an id are the generation; noise has none. */
ETX_TEST(test_eval_score_generation)
{
    const int64_t primary = INT64_C(1) << 36 | 5;
    const int64_t later = INT64_C(1) << 36 | INT64_C(1) << 24 | 5;
    const int64_t of_hit[] = {
        primary, primary, primary, later, later, later, later, 0};
    const float weight[] = {
        0.125f, 0.125f, 0.25f, 0.125f, 0.125f, 0.125f, 0.125f, 0.0f};
    const float position[3 * 8] = {0.0f};
    const etx_particle particles[] = {{.id = primary}, {.id = later}};
    const int32_t label[] = {0, 0, -1, 1, 1, 1, -1, -1};
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation rates = {.struct_size = sizeof rates};
    scoped_event *event = NULL;
    scoped_tracks *tracks = NULL;

    ck_assert_ok(etx_event_create(&event, 8, NULL, position));
    ck_assert_ok(etx_event_set_truth(event, of_hit, weight, 2, particles));
    ck_assert_ok(etx_tracks_from_labels(&tracks, 8, label));
    ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    ck_assert_ok(etx_evaluate(&counts, event, tracks, NULL));
    ck_assert_double_eq(counts.trackml_score_sum, 2.0 * 0.625);
    ck_assert_double_eq(counts.primary_score_sum, 2.0 * 0.5);
    ck_assert_ok(etx_evaluation_rates(&rates, &counts));
    ck_assert_double_eq(rates.primary_score, 0.5);

    /* The means of no event are no number. */
    const etx_evaluation_counts none = {.struct_size = sizeof none};
    ck_assert_ok(etx_evaluation_rates(&rates, &none));
    ck_assert_double_nan(rates.trackml_score);
    ck_assert_double_nan(rates.primary_score);
}

ETX_TEST(test_eval_score_shipped_event)
{
    assert_truth_scores_one(etx_test_example("event000000000"));
}
