/* cuda_shim/test_cuda_shim_views.c -- what a graph has on a device: here its
 * memory can be read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include "device_edges.h"

/* A failure at each call of the runtime would score thousands of times. */
#define MAX_FAILURES 8

#define N_JOINED 40

/* A model, an event, and contexts on the device: one that keeps its graphs and
 * one that does not. */
struct views {
    etx_model *model;
    etx_event *event;
    etx_context *keeping;
    etx_context *plain;
};

static void open_views(struct views *views)
{
    *views = (struct views){NULL};
    etx_test_open_part(&views->model, &views->event, "event000000001");
    views->keeping = shim_context(0, 1);
    views->plain = shim_context(0, 0);
}

/* Whatever was kept has been freed. */
static void close_views(struct views *views)
{
    etx_event_free(views->event);
    etx_model_free(views->model);
    etx_context_free(views->keeping);
    etx_context_free(views->plain);
    ck_assert_int_eq(shim_live(), 0);
}

/* Edges from hit to hit, each as good as not. */
static etx_graph *join_hits(const struct views *views)
{
    etx_graph *graph = NULL;
    int32_t src[N_JOINED];
    int32_t dst[N_JOINED];
    float score[N_JOINED];

    for (int32_t e = 0; e < N_JOINED; e++) {
        score[e] = 0.5f;
        src[e] = e;
        dst[e] = e + 1;
    }
    ck_assert_ok(etx_graph_from_edges(&graph, etx_event_n_hits(views->event),
        N_JOINED, src, dst, score, NULL));
    return graph;
}

static void assert_no_views(const etx_graph *graph)
{
    ck_assert_int_eq(etx_graph_device_index(graph), -1);
    ck_assert_ptr_null(etx_graph_src_dev(graph));
    ck_assert_error("etx_graph_src_dev: the graph has no arrays on a device");
}

/* On the device, elsewhere, are the values of the host. */
static void assert_views(const etx_graph *graph)
{
    const size_t n = (size_t)etx_graph_n_edges(graph);
    const size_t n_offsets = (size_t)etx_graph_n_nodes(graph) + 1;

    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(etx_graph_device_index(graph), 0);
    ck_assert_ptr_ne(etx_graph_src_dev(graph), etx_graph_src(graph));
    ck_assert_mem_eq(
        etx_graph_src_dev(graph), etx_graph_src(graph), n * sizeof(int32_t));
    ck_assert_mem_eq(
        etx_graph_dst_dev(graph), etx_graph_dst(graph), n * sizeof(int32_t));
    ck_assert_mem_eq(etx_graph_offsets_dev(graph), etx_graph_offsets(graph),
        n_offsets * sizeof(int64_t));
    if (etx_graph_scores(graph) == NULL) {
        ck_assert_ptr_null(etx_graph_scores_dev(graph));
        ck_assert_error("etx_graph_scores_dev: the graph is not scored");
    } else {
        ck_assert_mem_eq(etx_graph_scores_dev(graph), etx_graph_scores(graph),
            n * sizeof(float));
    }
}

static void assert_same_scores(const etx_graph *a, const etx_graph *b)
{
    ck_assert_int_eq(etx_graph_n_edges(a), etx_graph_n_edges(b));
    ck_assert_mem_eq(etx_graph_scores(a), etx_graph_scores(b),
        (size_t)etx_graph_n_edges(a) * sizeof(float));
}

/* Candidates, and the scored graph of those that the filter keeps. Returns the
 * calls of the runtime that filter and scores took. */
static int64_t run_stages(etx_graph **candidates, etx_graph **graph,
    etx_context *context, const struct views *views)
{
    ck_assert_ok(
        etx_graph_build(candidates, context, views->model, views->event));
    shim_fail_call(-1);
    ck_assert_ok(etx_graph_filter(
        graph, *candidates, context, views->model, views->event));
    ck_assert_ok(etx_graph_score(*graph, context, views->model, views->event));
    return shim_calls();
}

/* Each stage leaves its graph on the device, where the next one finds it; what
 * it computes is what it computes otherwise. */
ETX_TEST(test_cuda_shim_views_stages)
{
    struct views views;
    etx_graph *candidates[2] = {NULL};
    etx_graph *graphs[2] = {NULL};

    open_views(&views);
    for (int32_t turn = 0; turn < 2;
         turn++) { /* the model is there by turn 1 */
        etx_graph_free(candidates[0]);
        etx_graph_free(candidates[1]);
        etx_graph_free(graphs[0]);
        etx_graph_free(graphs[1]);
        const int64_t n_plain =
            run_stages(&candidates[0], &graphs[0], views.plain, &views);
        const int64_t n_keeping =
            run_stages(&candidates[1], &graphs[1], views.keeping, &views);

        ck_assert_int_lt(n_keeping, n_plain);
    }
    assert_no_views(candidates[0]);
    assert_no_views(graphs[0]);
    assert_views(candidates[1]);
    assert_views(graphs[1]);
    assert_same_scores(graphs[0], graphs[1]);
    for (int32_t k = 0; k < 2; k++) {
        etx_graph_free(candidates[k]);
        etx_graph_free(graphs[k]);
    }
    close_views(&views);
}

/* Points, triplets and their scores. */
ETX_TEST(test_cuda_shim_views_triplets)
{
    struct views views;
    etx_graph *graph = NULL;
    etx_graph *triplets = NULL;
    const float points[4] = {0.0f, 0.05f, 0.1f, 0.15f};
    const float scores[3] = {0.25f, 0.5f, 1.0f};
    const etx_graph_options options = {
        .struct_size = sizeof options, .radius = 0.06f, .max_edges = 100};

    open_views(&views);
    ck_assert_ok(etx_graph_build_radius(
        &graph, views.keeping, 4, 1, points, NULL, &options));
    ck_assert_int_eq(etx_graph_n_edges(graph), 3);
    assert_views(graph);
    ck_assert_ok(etx_graph_to_triplets(&triplets, graph, views.keeping, 100));
    ck_assert_int_eq(etx_graph_n_edges(triplets), 2);
    assert_views(triplets);
    ck_assert_ok(etx_graph_set_scores(graph, scores));
    assert_views(graph);
    ck_assert_ok(etx_graph_set_scores(graph, NULL));
    assert_views(graph);
    etx_graph_free(graph);
    etx_graph_free(triplets);
    close_views(&views);
}

/* Scores come to a graph of the caller's edges from any context; who keeps it
 * last has it, and takes it along. */
ETX_TEST(test_cuda_shim_views_change_hands)
{
    struct views views;
    etx_context *cpu = NULL;
    etx_context *other = shim_context(0, 1);

    open_views(&views);
    etx_graph *graph = join_hits(&views);

    ck_assert_ok(etx_context_create(&cpu, NULL));
    assert_no_views(graph);
    ck_assert_ok(etx_graph_score(graph, views.plain, views.model, views.event));
    assert_no_views(graph);
    ck_assert_ok(
        etx_graph_score(graph, views.keeping, views.model, views.event));
    assert_views(graph);
    ck_assert_ok(etx_graph_score(graph, cpu, views.model, views.event));
    assert_views(graph);
    ck_assert_ok(etx_graph_score(graph, views.plain, views.model, views.event));
    assert_views(graph);
    ck_assert_ok(etx_graph_score(graph, other, views.model, views.event));
    etx_context_free(views.keeping);
    views.keeping = NULL;
    assert_views(graph);
    etx_context_free(other);
    assert_no_views(graph);
    ck_assert_ptr_nonnull(etx_graph_scores(graph));
    etx_graph_free(graph);
    etx_context_free(cpu);
    close_views(&views);
}

/* Whichever call fails, the host has the scores from before and the device has
 * the same or nothing; the next call is right. */
ETX_TEST(test_cuda_shim_views_fail)
{
    struct views views;
    float half[N_JOINED];

    open_views(&views);
    etx_graph *graph = join_hits(&views);

    for (int32_t e = 0; e < N_JOINED; e++)
        half[e] = 0.5f;
    ck_assert_ok(
        etx_graph_score(graph, views.keeping, views.model, views.event));
    shim_fail_call(-1);
    ck_assert_ok(
        etx_graph_score(graph, views.keeping, views.model, views.event));
    const int64_t n_calls = shim_calls();

    for (int64_t f = 0; f < MAX_FAILURES; f++) {
        shim_fail_call(-1);
        ck_assert_ok(etx_graph_set_scores(graph, half));
        shim_fail_call(f * n_calls / MAX_FAILURES);
        const etx_status status =
            etx_graph_score(graph, views.keeping, views.model, views.event);

        ck_assert_msg(status == ETX_ERR_MEMORY || status == ETX_ERR_DEVICE,
            "failure %lld: %s", (long long)f, etx_status_name(status));
        ck_assert_mem_eq(etx_graph_scores(graph), half, sizeof half);
        assert_no_views(graph);
        shim_fail_call(-1);
        ck_assert_ok(
            etx_graph_score(graph, views.keeping, views.model, views.event));
        assert_views(graph);
    }
    /* Scores that do not come to the device are the graph's all the same. */
    shim_fail_call(0);
    ck_assert_ok(etx_graph_set_scores(graph, half));
    shim_fail_call(-1);
    assert_no_views(graph);
    etx_graph_free(graph);
    close_views(&views);
}
