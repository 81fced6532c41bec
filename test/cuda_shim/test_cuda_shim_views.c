/* cuda_shim/test_cuda_shim_views.c -- what a graph has on a device: here its
 * memory can be read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include "device_edges.h"

/* A model, an event, and contexts on the device: one that keeps its graphs and
 * one that does not. */
struct views {
    etx_model *model;
    etx_event *event;
    etx_context *keeping;
    etx_context *plain;
};

static struct views open_views(void)
{
    struct views views = {
        .keeping = shim_context(0, 1), .plain = shim_context(0, 0)};

    etx_test_open_part(&views.model, &views.event, "event000000001");
    return views;
}

static void close_views(struct views *views)
{
    etx_event_free(views->event);
    etx_model_free(views->model);
    etx_context_free(views->keeping);
    etx_context_free(views->plain);
}
#define scoped_views SCOPED(close_views) struct views

static void assert_no_views(const etx_graph *graph)
{
    ck_assert_int_eq(etx_graph_device_index(graph), -1);
    ck_assert_ptr_null(etx_graph_src_device(graph));
    ck_assert_error(
        "etx_graph_src_device: the graph has no arrays on a device");
}

/* On the device, elsewhere, are the values of the host. */
static void assert_views(const etx_graph *graph)
{
    const size_t n = (size_t)etx_graph_n_edges(graph);
    const size_t n_offsets = (size_t)etx_graph_n_nodes(graph) + 1;

    ck_assert_uint_gt(n, 0);
    ck_assert_int_eq(etx_graph_device_index(graph), 0);
    ck_assert_ptr_ne(etx_graph_src_device(graph), etx_graph_src(graph));
    ck_assert_mem_eq(
        etx_graph_src_device(graph), etx_graph_src(graph), n * sizeof(int32_t));
    ck_assert_mem_eq(
        etx_graph_dst_device(graph), etx_graph_dst(graph), n * sizeof(int32_t));
    ck_assert_mem_eq(etx_graph_offsets_device(graph), etx_graph_offsets(graph),
        n_offsets * sizeof(int64_t));
    if (etx_graph_scores(graph) == NULL) {
        ck_assert_ptr_null(etx_graph_scores_device(graph));
        ck_assert_error("etx_graph_scores_device: the graph is not scored");
    } else {
        ck_assert_mem_eq(etx_graph_scores_device(graph),
            etx_graph_scores(graph), n * sizeof(float));
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
SHIM_TEST(test_cuda_shim_views_stages)
{
    scoped_views views = open_views();
    etx_context *const contexts[2] = {views.plain, views.keeping};

    for (int32_t turn = 0; turn < 2;
         turn++) { /* the model is there by turn 1 */
        etx_graph *candidates[2] = {NULL};
        etx_graph *graphs[2] = {NULL};
        int64_t n_calls[2];

        for (int k = 0; k < 2; k++)
            n_calls[k] =
                run_stages(&candidates[k], &graphs[k], contexts[k], &views);
        ck_assert_int_lt(n_calls[1], n_calls[0]);
        assert_no_views(candidates[0]);
        assert_no_views(graphs[0]);
        assert_views(candidates[1]);
        assert_views(graphs[1]);
        assert_same_scores(graphs[0], graphs[1]);
        for (int k = 0; k < 2; k++) {
            etx_graph_free(candidates[k]);
            etx_graph_free(graphs[k]);
        }
    }
}

/* Points, triplets and their scores. */
SHIM_TEST(test_cuda_shim_views_triplets)
{
    scoped_views views = open_views();
    etx_graph *graph = NULL;
    etx_graph *triplets = NULL;
    const float points[4] = {0.0f, 0.05f, 0.1f, 0.15f};
    const float scores[3] = {0.25f, 0.5f, 1.0f};
    const etx_graph_options options = {
        .struct_size = sizeof options, .radius = 0.06f, .max_edges = 100};

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
}

/* Scores come to a graph of the caller's edges from any context; who keeps it
 * last has it, and takes it along. */
SHIM_TEST(test_cuda_shim_views_change_hands)
{
    scoped_views views = open_views();
    etx_context *cpu = NULL;
    etx_context *other = shim_context(0, 1);

    etx_graph *graph = join_hits(views.event);

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
}
