/* test_eval_refusals.c -- what an evaluation refuses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "eval_events.h"

#include <fenv.h>
#include <math.h>
#include <stddef.h>

#define BAD(field, value, text)                                                \
    {                                                                          \
        CHANGE(etx_evaluation_options, field, value), ETX_ERR_ARGUMENT, text   \
    }

static const struct etx_test_change refusals[] = {
    BAD(matching, 3, "matching 3"),
    BAD(matching, -1, "matching -1"),
    BAD(matching_fraction, 0.49f, "matching_fraction 0.49"),
    BAD(matching_fraction, 1.0f, "matching_fraction 1"),
    BAD(matching_fraction, NAN, "matching_fraction is nan"),
    BAD(min_pt, -1.0f, "min_pt -1"),
    BAD(min_pt, NAN, "min_pt is nan"),
    BAD(min_pt, INFINITY, "min_pt inf"),
    BAD(max_eta, 0.0f, "max_eta 0"),
    BAD(max_eta, NAN, "max_eta is nan"),
    BAD(min_particle_hits, 0, "min_particle_hits 0"),
    BAD(min_track_hits, 0, "min_track_hits 0"),
    BAD(charged_only, 2, "charged_only 2"),
    BAD(struct_size, 4, "struct_size"),
};

ETX_TEST(test_eval_refusals_options, .rows = ROWS(refusals))
{
    const int32_t hits[] = {0, 1, 2, 3, 4, 5, END_OF_TRACK};
    const struct etx_test_change *row = &refusals[_i];
    scoped_event *event = new_hand_event();
    scoped_tracks *tracks = new_track_list(HAND_N_HITS, 1, hits);
    etx_evaluation_options options;
    etx_evaluation_counts counts = {
        .struct_size = sizeof counts, .n_events = 7};
    int32_t particle = 77;

    ck_assert_ok(etx_evaluation_options_init(&options, sizeof options));
    etx_test_set(&options, row);
    ck_assert_int_eq(feclearexcept(FE_ALL_EXCEPT), 0);
    ck_assert_refused(
        etx_evaluate(&counts, event, tracks, &options), row->error);
    ck_assert_refused(
        etx_match(&particle, NULL, event, tracks, &options), row->error);
    ck_assert_int_eq(fetestexcept(FE_ALL_EXCEPT), 0);
    ck_assert_int_eq(counts.n_events, 7);
    ck_assert_int_eq(counts.n_tracks, 0);
    ck_assert_int_eq(particle, 77);
}

ETX_TEST(test_eval_refusals_arguments)
{
    const int32_t hits[] = {0, 1, 2, 3, 4, 5, END_OF_TRACK};
    const double edges[] = {0.0, 1.0, 1.0};
    scoped_event *event = new_hand_event();
    scoped_event *no_truth = NULL;
    scoped_tracks *tracks = new_track_list(HAND_N_HITS, 1, hits);
    scoped_tracks *others = new_track_list(HAND_N_HITS + 1, 1, hits);
    etx_evaluation_counts counts = {
        .struct_size = sizeof counts, .n_events = 7};
    int64_t total[2] = {0};
    const float position[3 * HAND_N_HITS] = {0};

    ck_assert_ok(etx_event_create(&no_truth, HAND_N_HITS, NULL, position));
    ck_assert_refused(
        etx_evaluate(&counts, no_truth, tracks, NULL), "no truth");
    ck_assert_refused(etx_evaluate(&counts, event, others, NULL),
        "the tracks are of 26 hits and the event has 25");
    ck_assert_refused(
        etx_match(NULL, NULL, no_truth, tracks, NULL), "no truth");
    ck_assert_refused(
        etx_evaluate_binned(total, total, event, tracks, 3, 1, edges, NULL),
        "variable 3");
    ck_assert_refused(
        etx_evaluate_binned(total, total, event, tracks, 0, 0, edges, NULL),
        "n_bins 0");
    ck_assert_refused(
        etx_evaluate_binned(total, total, event, tracks, 0, 2, edges, NULL),
        "edges 1 and 2");
    ck_assert_int_eq(counts.n_events, 7);
}
