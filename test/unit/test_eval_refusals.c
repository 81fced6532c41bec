/* test_eval_refusals.c -- what an evaluation refuses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "eval_events.h"

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
        etx_evaluate_binned(total, total, event, tracks, 4, 1, edges, NULL),
        "variable 4");
    ck_assert_refused(
        etx_evaluate_binned(total, total, event, tracks, 0, 0, edges, NULL),
        "n_bins 0");
    ck_assert_refused(etx_evaluate_binned(total, total, event, tracks, 0,
                          INT64_MAX, edges, NULL),
        "n_bins 9223372036854775807");
    ck_assert_refused(etx_evaluate_binned(total, total, event, tracks, 0,
                          INT64_MAX - 1, edges, NULL),
        "edges 1 and 2");
    ck_assert_refused(
        etx_evaluate_binned(total, total, event, tracks, 0, 2, edges, NULL),
        "edges 1 and 2");
    ck_assert_int_eq(counts.n_events, 7);
}
