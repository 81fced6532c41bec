/* test_refusals.c -- objects and reports of the caller that do not fit
 * together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_models.h"

#include <exatrkx/eval.h>

static const float points[] = {1.0f, 0.0f, 0.0f, 2.0f, 0.0f, 0.0f};

/* A model without the stage that is called. */
ETX_TEST(test_refusals_stages)
{
    scoped_context *context = etx_test_context();
    scoped_model *empty = io_model_make("{\"schema\":1}");
    scoped_event *event = etx_test_event(2, points);
    scoped_graph *graph = NULL;
    etx_graph *out = NULL;
    int64_t n_dim = 7;

    ck_assert_ok(etx_graph_from_edges(&graph, 2, 0, NULL, NULL, NULL, NULL));
    ck_assert_refused(etx_embed(&n_dim, NULL, 0, context, empty, event),
        "the model has no embedding");
    ck_assert_int_eq(n_dim, 7);
    ck_assert_refused(
        etx_graph_build(&out, context, empty, event), "no embedding");
    ck_assert_refused(
        etx_graph_filter(&out, graph, context, empty, event), "no filter");
    ck_assert_ptr_null(out);
    ck_assert_refused(etx_graph_score(graph, context, empty, event),
        "no graph neural network");
}

/* Points and an event for the orientation of edges. */
ETX_TEST(test_refusals_search)
{
    scoped_context *context = etx_test_context();
    scoped_event *event = etx_test_event(1, points);
    etx_graph_options options;
    etx_graph *out = NULL;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.orientation = ETX_ORIENT_OUTWARD;
    ck_assert_refused(
        etx_graph_build_radius(&out, context, 2, 3, points, NULL, &options),
        "outward orientation needs an event");
    options.max_neighbours = 1;
    ck_assert_refused(
        etx_graph_build_knn(&out, context, 2, 3, points, event, &options),
        "2 points and an event of 1 hits");
    ck_assert_ptr_null(out);
}

#define COUNTS(field, value, text)                                             \
    {                                                                          \
        CHANGE(etx_evaluation_counts, field, value), ETX_ERR_ARGUMENT, text    \
    }
static const struct etx_test_change counts_refused[] = {
    COUNTS(reserved, 1, "counts->reserved is 1 and must be 0"),
    COUNTS(struct_size, 4, "evaluation counts"),
    COUNTS(n_selected_matched, -1, "particles matched: -1 of 0 is no rate"),
    COUNTS(n_reconstructable_matched, 1, "matched: 1 of 0 is no rate"),
    COUNTS(n_tracks_matched, 1, "tracks matched: 1 of 0 is no rate"),
    COUNTS(n_tracks_fake, -1, "fake tracks: -1 of 0 is no rate"),
    COUNTS(n_tracks_duplicate, 1, "duplicate tracks: 1 of 0 is no rate"),
    COUNTS(n_events, -1, "events: 0 of -1 is no rate"),
    COUNTS(trackml_score_sum, -0.5, "trackml_score_sum is -0.5"),
    COUNTS(primary_score_sum, NAN, "primary_score_sum is nan"),
};

ETX_TEST(test_refusals_rates, .rows = ROWS(counts_refused))
{
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation rates = {.struct_size = sizeof rates, .trackml_score = 0.5};

    etx_test_set(&counts, &counts_refused[_i]);
    ck_assert_refused(
        etx_evaluation_rates(&rates, &counts), counts_refused[_i].error);
    ck_assert(rates.trackml_score == 0.5);
}

/* Counts that were not set to zero gain no event either. */
ETX_TEST(test_refusals_counts, .rows = ROWS(counts_refused))
{
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation_counts before;
    scoped_event *event = etx_test_event(2, points);
    scoped_tracks *tracks = NULL;

    etx_test_set(&counts, &counts_refused[_i]);
    before = counts;
    ck_assert_refused(
        etx_evaluate(&counts, event, tracks, NULL), counts_refused[_i].error);
    ck_assert_int_eq(memcmp(&counts, &before, sizeof counts), 0);
}

static void count_leave(void *user, etx_status status)
{
    *(int32_t *)user += status != ETX_OK;
}

/* A part of a graph, and the exchange that scoring it needs. */
ETX_TEST(test_refusals_parts)
{
    const int32_t owners[] = {0, 0};
    int32_t n_left = 0;
    etx_part_exchange exchange = etx_test_no_exchange();
    scoped_context *context = etx_test_context();
    scoped_model *empty = io_model_make("{\"schema\":1}");
    scoped_event *event = etx_test_event(2, points);
    scoped_event *other = etx_test_event(1, points);
    scoped_graph *graph = NULL;
    scoped_part *part = NULL;
    float score = 0.0f;

    exchange.leave = count_leave;
    exchange.user = &n_left;
    ck_assert_ok(etx_graph_from_edges(&graph, 2, 0, NULL, NULL, NULL, NULL));
    ck_assert_ok(etx_graph_part_create(&part, graph, owners, 1, 0));
    ck_assert_refused(
        etx_graph_part_score(&score, part, context, empty, event, NULL),
        "exchange is NULL");
    ck_assert_int_eq(n_left, 0);
    ck_assert_refused(
        etx_graph_part_score(&score, part, context, empty, event, &exchange),
        "the model has no graph neural network");
    ck_assert_refused(
        etx_graph_part_score(&score, part, context, empty, other, &exchange),
        "2");
    ck_assert_int_eq(n_left, 2);
    exchange.swap = NULL;
    ck_assert_refused(
        etx_graph_part_score(&score, part, context, empty, event, &exchange),
        "exchange->swap is NULL");
    exchange = etx_test_no_exchange();
    exchange.reserved = 3;
    ck_assert_refused(
        etx_graph_part_score(&score, part, context, empty, event, &exchange),
        "exchange->reserved is 3 and must be 0");
}
