/* api/graph.c -- graphs from edges, and getters of graphs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"
#include "base/cancel.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/graph_mirror.h"
#include "stage/stage.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static etx_status check_ends(const char *function, const char *name,
    const int32_t *ends, const struct etx_edges *edges)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_array(
        function, name, ends, edges->n_edges, alignof(int32_t)));
    for (int64_t e = 0; e < edges->n_edges; e++) {
        ETX_POLL(e);
        if (ends[e] < 0 || ends[e] >= edges->n_nodes)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: edge %" PRId64 ": %s %d is not in 0..%" PRId64, function,
                e, name, ends[e], edges->n_nodes - 1);
    }
done:
    return status;
}

static etx_status check_scores(
    const char *function, const float *scores, int64_t n_edges)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_finite(function, "scores", scores, n_edges, 1));
    for (int64_t e = 0; e < n_edges; e++) {
        ETX_POLL(e);
        if (scores[e] < 0.0f || scores[e] > 1.0f)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: score %" PRId64 " is %.9g and not in 0..1", function, e,
                (double)scores[e]);
    }
done:
    return status;
}

etx_status etx_graph_from_edges(etx_graph **out, int64_t n_nodes,
    int64_t n_edges, const int32_t *src, const int32_t *dst,
    const float *scores, int64_t *order_out)
{
    const struct etx_edges edges = {n_nodes, n_edges, src, dst, scores};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_nodes", n_nodes));
    ETX_CHECK(etx_check_count(__func__, "n_edges", n_edges));
    ETX_CHECK(check_ends(__func__, "src", src, &edges));
    ETX_CHECK(check_ends(__func__, "dst", dst, &edges));
    if (scores != NULL)
        ETX_CHECK(check_scores(__func__, scores, n_edges));
    if (order_out != NULL)
        ETX_CHECK(
            etx_check_array(__func__, ETX_ARRAY(order_out, n_edges, int64_t)));
    ETX_CHECK(etx_graph_sort(out, order_out, NULL, &edges));
done:
    return etx_call_end(&host, status);
}

/* Edges in memory of the device of context, whose copies on the host are as
 * etx_graph_from_edges takes them. */
static etx_status check_device_edges(const char *function, void *stream,
    const etx_context *context, const struct etx_edges *edges)
{
    const int64_t n = edges->n_edges;
    int32_t *src = NULL;
    int32_t *dst = NULL;
    float *scores = NULL;
    etx_status status;

    ETX_CHECK(etx_copy_from_device(
        &src, function, "src", context, edges->src, n, sizeof *src, stream));
    ETX_CHECK(check_ends(function, "src", src, edges));
    ETX_CHECK(etx_copy_from_device(
        &dst, function, "dst", context, edges->dst, n, sizeof *dst, stream));
    ETX_CHECK(check_ends(function, "dst", dst, edges));
    if (edges->score == NULL)
        goto done;
    ETX_CHECK(etx_copy_from_device(&scores, function, "scores", context,
        edges->score, n, sizeof *scores, stream));
    ETX_CHECK(check_scores(function, scores, n));
done:
    etx_free(src);
    etx_free(dst);
    etx_free(scores);
    return status;
}

etx_status etx_graph_from_edges_device(etx_graph **out, etx_context *context,
    int64_t n_nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
    const float *scores, int64_t *order_out, void *stream)
{
    const struct etx_edges edges = {n_nodes, n_edges, src, dst, scores};
    struct etx_graph *graph = NULL;
    int64_t *order = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(context), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_nodes", n_nodes));
    ETX_CHECK(etx_check_count(__func__, "n_edges", n_edges));
    ETX_CHECK(check_device_edges(__func__, stream, context, &edges));
    if (order_out != NULL) {
        ETX_CHECK(
            etx_check_array(__func__, ETX_ARRAY(order_out, n_edges, int64_t)));
        ETX_NEW(order, n_edges, "order of edges");
    }
    ETX_CHECK(etx_graph_sort(&graph, order, context, &edges));
    ETX_CHECK(etx_stage_graph_to_caller(&graph, context));
    if (n_edges > 0 && order != NULL)
        memcpy(order_out, order, (size_t)n_edges * sizeof *order);
    *out = graph;
done:
    etx_free(order);
    return etx_call_end(&host, etx_call_settle(context, status));
}

/* ------------------------------------------------------------ edge index -- */

/* Edge e of an index, which is none. */
static etx_status refuse_edge(const char *function,
    const struct etx_memory *memory,
    const struct etx_read_edge_index_args *args, int64_t e)
{
    const int64_t last = args->n_nodes - 1;
    int64_t src = 0;
    int64_t dst = 0;
    float score = 0.0f;
    etx_status status;

    ETX_CHECK(etx_memory_to_host(memory, &src, args->index + e, 1, sizeof src));
    ETX_CHECK(etx_memory_to_host(
        memory, &dst, args->index + args->n_edges + e, 1, sizeof dst));
    if (src < 0 || src > last || dst < 0 || dst > last)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: edge %" PRId64 " is from %" PRId64 " to %" PRId64
            " and not in 0..%" PRId64,
            function, e, src, dst, last);
    ETX_CHECK(
        etx_memory_to_host(memory, &score, args->score + e, 1, sizeof score));
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: score %" PRId64 " is %.9g and not in 0..1", function, e,
        (double)score);
done:
    return status;
}

/* edges->src and ->dst, in scratch, from an index. */
static etx_status read_index(struct etx_edges *edges, const char *function,
    etx_context *context, const int64_t *index)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_memory *memory = context->stream->memory;
    struct etx_read_edge_index_args args = {.n_nodes = edges->n_nodes,
        .n_edges = edges->n_edges,
        .index = index,
        .score = edges->score};
    int64_t bad = -1;
    etx_status status;

    ETX_SCRATCH(args.src, arena, args.n_edges, "edge sources");
    ETX_SCRATCH(args.dst, arena, args.n_edges, "edge destinations");
    ETX_SCRATCH(args.bad, arena, 1, "index of an edge");
    ETX_CHECK(context->ops->read_edge_index(context->stream, &args));
    ETX_CHECK(etx_memory_to_host(memory, &bad, args.bad, 1, sizeof bad));
    if (bad >= 0)
        ETX_CHECK(refuse_edge(function, memory, &args, bad));
    edges->src = args.src;
    edges->dst = args.dst;
done:
    return status;
}

etx_status etx_graph_from_index_device(etx_graph **out, etx_context *context,
    int64_t n_nodes, int64_t n_edges, const int64_t *index, const float *scores,
    void *stream)
{
    struct etx_edges edges = {n_nodes, n_edges, NULL, NULL, scores};
    struct etx_graph *graph = NULL;
    struct etx_arena_mark mark;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(context), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_nodes", n_nodes));
    ETX_CHECK(etx_check_count(__func__, "n_edges", n_edges));
    ETX_CHECK(etx_check_on_device(
        __func__, "index", context, index, 2 * n_edges, sizeof *index, stream));
    if (scores != NULL)
        ETX_CHECK(etx_check_on_device(__func__, "scores", context, scores,
            n_edges, sizeof *scores, stream));
    mark = etx_arena_mark(context->stream->arena);
    status = read_index(&edges, __func__, context, index);
    if (status == ETX_OK)
        status = etx_graph_sort(&graph, NULL, context, &edges);
    if (status == ETX_OK)
        status = etx_stage_graph_to_caller(&graph, context);
    if (status == ETX_OK)
        *out = graph;
    etx_arena_reset(context->stream->arena, mark);
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

/* The edges of graph, on the device, above the cut: args->selected, in scratch,
 * and args->n. */
static etx_status select_edges(struct etx_write_edge_index_args *args,
    etx_context *context, const struct etx_graph *graph, float cut)
{
    int32_t *selected = NULL;
    etx_status status;

    ETX_SCRATCH(
        selected, context->stream->arena, graph->n_edges, "selected edges");
    const struct etx_edge_select_args select = {.n_edges = graph->n_edges,
        .score = graph->score,
        .cut = cut,
        .selected = selected,
        .n_selected = &args->n};
    ETX_CHECK(context->ops->edge_select(context->stream, &select));
    args->selected = selected;
done:
    return status;
}

/* The arrays that args names, of the caller. */
static etx_status write_index(const char *function, etx_context *context,
    const struct etx_write_edge_index_args *args, int64_t capacity,
    void *stream)
{
    etx_status status;

    if (args->n > capacity)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: capacity %" PRId64 " is below the %" PRId64 " edges", function,
            capacity, args->n);
    ETX_CHECK(etx_check_on_device(function, "index", context, args->index,
        2 * args->n, sizeof *args->index, stream));
    if (args->score != NULL)
        ETX_CHECK(etx_check_on_device(function, "scores", context,
            args->score_out, args->n, sizeof *args->score_out, stream));
    ETX_CHECK(context->ops->write_edge_index(context->stream, args));
    ETX_CHECK(etx_memory_synchronize(context->stream->memory));
done:
    return status;
}

etx_status etx_graph_to_index_device(int64_t *n_edges, int64_t *index,
    float *scores, int64_t capacity, const etx_graph *graph,
    etx_context *context, float cut, void *stream)
{
    struct etx_write_edge_index_args args = {0};
    const struct etx_graph *local = NULL;
    struct etx_graph *copy = NULL;
    struct etx_arena_mark mark;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(n_edges),
        ETX_GIVEN(graph), ETX_GIVEN(context), ETX_END));
    if (isnan(cut))
        ETX_FAIL(ETX_ERR_ARGUMENT, "%s: cut is nan", __func__);
    ETX_CHECK(etx_check_on_device(
        __func__, "index", context, NULL, 0, sizeof *index, stream));
    if (scores != NULL)
        ETX_CHECK(etx_check_scored(__func__, graph));
    ETX_CHECK(etx_stage_graph_to_device(&local, &copy, context, graph));
    args.n = local->n_edges;
    args.src = local->src;
    args.dst = local->dst;
    args.score = scores != NULL ? local->score : NULL;
    args.index = index;
    args.score_out = scores;
    mark = etx_arena_mark(context->stream->arena);
    if (local->score != NULL)
        status = select_edges(&args, context, local, cut);
    if (status == ETX_OK && index != NULL)
        status = write_index(__func__, context, &args, capacity, stream);
    if (status == ETX_OK)
        *n_edges = args.n;
    etx_arena_reset(context->stream->arena, mark);
done:
    etx_graph_free(copy);
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_graph_set_scores(etx_graph *graph, const float *scores)
{
    float *copy = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(graph), ETX_END));
    ETX_CHECK(etx_graph_check_on_host(graph));
    if (scores != NULL) {
        ETX_CHECK(check_scores(__func__, scores, graph->n_edges));
        ETX_CHECK(etx_alloc_copy(
            &copy, scores, graph->n_edges, sizeof *scores, "edge scores"));
    }
    etx_free(graph->score);
    graph->score = copy;
    etx_graph_mirror_scores(graph);
done:
    return etx_call_end(&host, status);
}

etx_status etx_graph_set_edge_features(
    etx_graph *graph, int64_t n_features, const float *features)
{
    float *copy = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(graph), ETX_END));
    if (n_features < 0 || n_features > ETX_N_OWN_EDGE_FEATURES)
        ETX_FAIL(n_features < 0 ? ETX_ERR_ARGUMENT : ETX_ERR_LIMIT,
            "%s: n_features %" PRId64 " is not in 0..%d", __func__, n_features,
            ETX_N_OWN_EDGE_FEATURES);
    ETX_CHECK(etx_graph_check_on_host(graph));
    if (n_features > 0) {
        ETX_CHECK(etx_check_finite(
            __func__, "features", features, graph->n_edges, n_features));
        ETX_CHECK(etx_check_within("features", "edge", features, graph->n_edges,
            n_features, ETX_MAX_HIT_VALUE));
        ETX_CHECK(etx_alloc_copy(&copy, features, graph->n_edges,
            (size_t)n_features * sizeof *copy, "features of edges"));
    }
    etx_graph_drop_mirror(graph);
    etx_graph_adopt_features(graph, (int32_t)n_features, copy);
done:
    return etx_call_end(&host, status);
}

ETX_GETTER(int64_t, etx_graph_n_nodes, etx_graph, n_nodes, 0)
ETX_GETTER(int64_t, etx_graph_n_edges, etx_graph, n_edges, 0)
ETX_GETTER(const int32_t *, etx_graph_src, etx_graph, src, NULL)
ETX_GETTER(const int32_t *, etx_graph_dst, etx_graph, dst, NULL)
ETX_GETTER(const int64_t *, etx_graph_offsets, etx_graph, in_offset, NULL)
ETX_GETTER(const float *, etx_graph_scores, etx_graph, score, NULL)
ETX_GETTER(int64_t, etx_graph_n_edge_features, etx_graph, n_features, 0)
ETX_GETTER(const float *, etx_graph_edge_features, etx_graph, features, NULL)

/* The mirror on a device; NULL after etx_fail when there is none. */
static const struct etx_graph *mirror_of(
    const char *function, const etx_graph *graph)
{
    if (etx_check_given(function, ETX_GIVEN(graph), ETX_END) != ETX_OK)
        return NULL;
    if (graph->mirror != NULL)
        return graph->mirror;
    (void)etx_fail(ETX_ERR_ARGUMENT,
        "%s: the graph has no arrays on a device: keep_graphs of the context "
        "that made or scored it was not 1, or that context was freed",
        function);
    return NULL;
}

int32_t etx_graph_device_index(const etx_graph *graph)
{
    return graph == NULL || graph->mirror == NULL
               ? -1
               : graph->mirror_context->options.device_index;
}

const int32_t *etx_graph_src_device(const etx_graph *graph)
{
    const struct etx_graph *mirror = mirror_of(__func__, graph);

    return mirror == NULL ? NULL : mirror->src;
}

const int32_t *etx_graph_dst_device(const etx_graph *graph)
{
    const struct etx_graph *mirror = mirror_of(__func__, graph);

    return mirror == NULL ? NULL : mirror->dst;
}

const int64_t *etx_graph_offsets_device(const etx_graph *graph)
{
    const struct etx_graph *mirror = mirror_of(__func__, graph);

    return mirror == NULL ? NULL : mirror->in_offset;
}

const float *etx_graph_scores_device(const etx_graph *graph)
{
    const struct etx_graph *mirror = mirror_of(__func__, graph);

    if (mirror != NULL && mirror->score == NULL)
        (void)etx_fail(ETX_ERR_ARGUMENT,
            "%s: the graph is not scored: its %" PRId64 " edges have no scores",
            __func__, mirror->n_edges);
    return mirror == NULL ? NULL : mirror->score;
}
