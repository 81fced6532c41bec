/* test_track_building.c -- from scored graphs to labels and tracks.
 *
 * What is true of every method, and connected components by hand.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "backend/backend.h"
#include "base/random.h"
#include "stage/track_building/track_building.h"
#include "track_graphs.h"

#include <math.h>

#define N_METHODS ETX_N_LABEL_METHODS

/* Two chains, 0-2-4-6 and 1-3, and 5 alone; an edge at the cut joins them. */
static const struct edge_list chains = {7, 5,
    {{0, 2, 0.9f}, {2, 4, 0.8f}, {4, 6, 0.7f}, {1, 3, 0.9f}, {3, 4, 0.5f}}};

struct row {
    float cut;
    int32_t min_hits;
    int32_t expected[7];
};

static const struct row chain_rows[] = {
    {0.5f, 3, {0, -1, 0, -1, 0, -1, 0}},
    {0.5f, 2, {0, 1, 0, 1, 0, -1, 0}},
    {0.5f, 1, {0, 1, 0, 1, 0, 2, 0}},
    {0.5f, 5, {-1, -1, -1, -1, -1, -1, -1}},
    {0.49f, 1, {0, 0, 0, 0, 0, 1, 0}},
    {0.75f, 2, {0, 1, 0, 1, 0, -1, -1}},
    {1.0f, 1, {0, 1, 2, 3, 4, 5, 6}},
    {0.0f, 2, {0, 0, 0, 0, 0, -1, 0}},
};

ETX_TEST(test_track_building_components, .rows = ROWS(chain_rows))
{
    const struct row *row = &chain_rows[_i];
    int32_t labels[7];

    label_list(labels, &chains, ETX_LABEL_COMPONENTS, row->cut, row->min_hits);
    assert_labels(labels, row->expected, 7);
}

/* Chains without branches are the same tracks by every method. */
ETX_TEST(test_track_building_methods_agree, .rows = N_METHODS)
{
    for (size_t r = 0; r < ROWS(chain_rows); r++) {
        int32_t labels[7];

        if (chain_rows[r].cut < 0.5f)
            continue;
        label_list(
            labels, &chains, _i, chain_rows[r].cut, chain_rows[r].min_hits);
        assert_labels(labels, chain_rows[r].expected, 7);
    }
}

ETX_TEST(test_track_building_tracks)
{
    static const int64_t offsets[] = {0, 4, 6};
    static const int32_t hits[] = {0, 2, 4, 6, 1, 3};
    scoped_context *context = etx_test_context();
    scoped_graph *graph = new_list_graph(&chains);
    const etx_label_options options = label_options(0, 0.5f, 2);
    scoped_tracks *tracks = NULL;
    scoped_tracks *defaults = NULL;

    ck_assert_ok(etx_graph_tracks(&tracks, graph, context, NULL, &options));
    ck_assert_int_eq(etx_tracks_count(tracks), 2);
    ck_assert_int_eq(etx_tracks_n_hits(tracks), 7);
    ck_assert_mem_eq(etx_tracks_offsets(tracks), offsets, sizeof offsets);
    ck_assert_mem_eq(etx_tracks_hits(tracks), hits, sizeof hits);
    /* Defaults: components above 0.5 of three hits or more. */
    ck_assert_ok(etx_graph_tracks(&defaults, graph, context, NULL, NULL));
    ck_assert_int_eq(etx_tracks_count(defaults), 1);
}

ETX_TEST(test_track_building_empty, .rows = N_METHODS)
{
    int32_t labels[3] = {7, 7, 7};

    label_edges(NULL, 0, 0, NULL, _i, 0.5f, 1);
    label_edges(labels, 3, 0, NULL, _i, 0.5f, 2);
    assert_labels(labels, (const int32_t[]){-1, -1, -1}, 3);
    label_edges(labels, 3, 0, NULL, _i, 0.5f, 1);
    assert_labels(labels, (const int32_t[]){0, 1, 2}, 3);
}

/* A graph without edges that was never scored has nothing to score. */
ETX_TEST(test_track_building_no_edges_no_scores)
{
    scoped_context *context = etx_test_context();
    scoped_graph *graph = NULL;
    scoped_tracks *tracks = NULL;

    ck_assert_ok(etx_graph_from_edges(&graph, 4, 0, NULL, NULL, NULL, NULL));
    ck_assert_ok(etx_graph_tracks(&tracks, graph, context, NULL, NULL));
    ck_assert_int_eq(etx_tracks_count(tracks), 0);
}

/* min_hits only selects among the same groups. */
ETX_TEST(test_track_building_min_hits_selects, .rows = N_METHODS)
{
    const int64_t n = 300;
    scoped struct scored_edge *edges = new_random_edges(n, 500, 11);
    int32_t all[300];
    int32_t labels[300];

    label_edges(all, n, 500, edges, _i, 0.3f, 1);
    for (int32_t min_hits = 2; min_hits < 8; min_hits++) {
        int32_t size[300] = {0};
        int32_t number[300];
        int32_t next = 0;

        memset(number, 0xff, sizeof number);
        for (int64_t i = 0; i < n; i++)
            size[all[i]]++;
        label_edges(labels, n, 500, edges, _i, 0.3f, min_hits);
        for (int64_t i = 0; i < n; i++) {
            if (size[all[i]] >= min_hits && number[all[i]] < 0)
                number[all[i]] = next++;
            ck_assert_int_eq(labels[i], number[all[i]]);
        }
    }
}

/* Neither the order of the edges nor that of the run changes a label. */
ETX_TEST(test_track_building_edge_order, .rows = N_METHODS)
{
    const int64_t n = 200;
    const int64_t n_edges = 600;
    scoped struct scored_edge *edges = new_random_edges(n, n_edges, 5);
    struct etx_random random;
    int32_t expected[200];
    int32_t labels[200];

    /* Few distinct scores: ties must not depend on the order either. */
    for (int64_t e = 0; e < n_edges; e++)
        edges[e].score = ceilf(4.0f * edges[e].score) / 4.0f;
    label_edges(expected, n, n_edges, edges, _i, 0.2f, 2);
    etx_random_init(&random, 1, 2, 3);
    for (int round = 0; round < 5; round++) {
        for (int64_t e = n_edges - 1; e > 0; e--) {
            const uint64_t other = etx_random_below(&random, (uint64_t)e + 1);
            const struct scored_edge edge = edges[e];

            edges[e] = edges[other];
            edges[other] = edge;
        }
        label_edges(labels, n, n_edges, edges, _i, 0.2f, 2);
        assert_labels(labels, expected, n);
    }
}

/* ----------------------------------------------------------- refusals -- */

#define BAD(field, value, text)                                                \
    {                                                                          \
        CHANGE(etx_label_options, field, value), ETX_ERR_ARGUMENT, text        \
    }

static const struct etx_test_change refused[] = {
    BAD(method, ETX_LABEL_WALKTHROUGH,
        "event is NULL and label method 2 needs"),
    BAD(method, ETX_LABEL_BEST_FIRST, "event is NULL and label method 3 needs"),
    BAD(cut, NAN, "cut is nan"),
};

ETX_TEST(test_track_building_refuses, .rows = ROWS(refused))
{
    scoped_context *context = etx_test_context();
    scoped_graph *graph = new_list_graph(&chains);
    etx_label_options options = label_options(0, 0.5f, 3);
    int32_t labels[7];
    etx_tracks *tracks = NULL;

    memset(labels, 0x55, sizeof labels);
    etx_test_set(&options, &refused[_i]);
    ck_assert_refused(etx_graph_label(labels, graph, context, NULL, &options),
        refused[_i].error);
    ck_assert_refused(etx_graph_tracks(&tracks, graph, context, NULL, &options),
        refused[_i].error);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(labels[i], 0x55555555);
    ck_assert_ptr_null(tracks);
}

ETX_TEST(test_track_building_refuses_arguments)
{
    scoped_context *context = etx_test_context();
    scoped_graph *graph = new_list_graph(&chains);
    scoped_graph *unscored = NULL;
    scoped_event *event = new_line_event(6, NULL);
    int32_t labels[7];

    ck_assert_ok(etx_graph_from_edges(&unscored, 7, 1, (const int32_t[]){0},
        (const int32_t[]){1}, NULL, NULL));
    ck_assert_refused(etx_graph_label(labels, unscored, context, NULL, NULL),
        "the graph is not scored");
    ck_assert_refused(etx_graph_label(labels, graph, context, event, NULL),
        "the graph has 7 nodes and the event 6 hits");
}

/* ------------------------------------------------------ cancel, memory -- */

/* Cancels at the n-th poll. */
static int32_t count_down(void *user)
{
    int64_t *const left = user;

    return --*left < 0;
}

/* Many branching pieces, so that a walkthrough takes many paths. */
static struct scored_edge *new_branches(int64_t n_pieces)
{
    struct scored_edge *edges = etx_test_alloc(n_pieces * 3, sizeof *edges);

    for (int64_t p = 0; p < n_pieces; p++) {
        const int32_t i = (int32_t)(4 * p);

        edges[3 * p] = (struct scored_edge){i, i + 1, 0.9f};
        edges[3 * p + 1] = (struct scored_edge){i + 1, i + 2, 0.9f};
        edges[3 * p + 2] = (struct scored_edge){i + 1, i + 3, 0.8f};
    }
    return edges;
}

ETX_TEST(test_track_building_cancel)
{
    const int64_t n_pieces = 40000;
    scoped struct scored_edge *edges = new_branches(n_pieces);
    scoped_graph *graph = new_graph(4 * n_pieces, 3 * n_pieces, edges);
    scoped_event *event = new_line_event(4 * n_pieces, NULL);
    int64_t left = 0;
    scoped_context *context = etx_test_context_with(1, 0, count_down, &left);
    const etx_label_options walk =
        label_options(ETX_LABEL_WALKTHROUGH, 0.5f, 3);
    scoped_tracks *tracks = NULL;
    int64_t n_polls = 0;

    /* Cancelled at the first poll, the second, ...: until it is done. */
    for (;; n_polls++) {
        left = n_polls;
        if (etx_graph_tracks(&tracks, graph, context, event, &walk) == ETX_OK)
            break;
        ck_assert_error("cancelled");
        ck_assert_ptr_null(tracks);
        ck_assert_int_eq(etx_arena_in_use(context->stream->arena), 0);
    }
    ck_assert_int_ge(n_polls, 4);
    ck_assert_int_eq(etx_tracks_count(tracks), n_pieces);
}

/* A limit on scratch is an error, not a crash, and the context stays usable. */
ETX_TEST(test_track_building_memory_limit, .rows = N_METHODS)
{
    const int64_t n = 20000;
    scoped struct scored_edge *edges = new_random_edges(n, n, 3);
    scoped_graph *graph = new_graph(n, n, edges);
    scoped_event *event = new_line_event(n, NULL);
    scoped_context *context = etx_test_context_with(1, n, NULL, NULL);
    const etx_label_options label = label_options(_i, 0.5f, 3);
    etx_tracks *tracks = NULL;

    ck_assert_fails(etx_graph_tracks(&tracks, graph, context, event, &label),
        ETX_ERR_MEMORY, "limit");
    ck_assert_int_eq(etx_arena_in_use(context->stream->arena), 0);
}
