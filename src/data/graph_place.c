/* data/graph_place.c -- graphs at the place where a context computes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph_place.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>

/* A graph with room for its edges at a place; src, dst and score as asked. */
static etx_status make_room(struct etx_graph **out,
    const struct etx_memory *slot, int64_t n_nodes, int64_t n_edges,
    bool with_ends, bool with_score)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(etx_graph_check_size(n_nodes, n_edges));
    ETX_CHECK(etx_alloc(&graph, 1, sizeof *graph, "graph"));
    graph->memory = slot;
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    ETX_CHECK(etx_memory_alloc(&graph->in_offset, slot, n_nodes + 1,
        sizeof *graph->in_offset, "edges into nodes"));
    ETX_CHECK(etx_memory_alloc(&graph->out_offset, slot, n_nodes + 1,
        sizeof *graph->out_offset, "edges out of nodes"));
    ETX_CHECK(etx_memory_alloc(&graph->out_edge, slot, n_edges,
        sizeof *graph->out_edge, "edges by source"));
    if (with_ends) {
        ETX_CHECK(etx_memory_alloc(
            &graph->src, slot, n_edges, sizeof *graph->src, "edge sources"));
        ETX_CHECK(etx_memory_alloc(&graph->dst, slot, n_edges,
            sizeof *graph->dst, "edge destinations"));
    }
    if (with_score)
        ETX_CHECK(etx_memory_alloc(
            &graph->score, slot, n_edges, sizeof *graph->score, "edge scores"));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

/* Offsets and edges by source from src and dst. */
static etx_status index_edges(struct etx_graph *graph,
    struct etx_context *context, const int32_t *src, const int32_t *dst)
{
    const struct etx_graph_index_args args = {
        .n_nodes = graph->n_nodes,
        .n_edges = graph->n_edges,
        .src = src,
        .dst = dst,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .out_edge = graph->out_edge,
    };

    return context->ops->graph_index(context->stream, &args);
}

etx_status etx_graph_adopt_at(struct etx_graph **out,
    struct etx_context *context, int64_t n_nodes, int64_t n_edges, int32_t *src,
    int32_t *dst)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    if (context->stream->memory == NULL)
        return etx_graph_adopt(
            out, context->stream->pool, n_nodes, n_edges, src, dst, NULL);
    ETX_CHECK(make_room(
        &graph, context->stream->memory, n_nodes, n_edges, false, false));
    ETX_CHECK(index_edges(graph, context, src, dst));
    graph->src = src;
    graph->dst = dst;
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

/* Ends and scores of the selected edges. */
static etx_status take_edges(struct etx_graph *out, struct etx_context *context,
    const struct etx_graph *graph, const int32_t *selected)
{
    const struct etx_op_table *ops = context->ops;
    struct etx_gather_int32_args take = {
        .n = out->n_edges, .x = graph->src, .index = selected, .y = out->src};
    const struct etx_gather_args gather = {.n_rows = out->n_edges,
        .width = 1,
        .x = graph->score,
        .index = selected,
        .y = out->score};
    etx_status status;

    ETX_CHECK(ops->gather_int32(context->stream, &take));
    take.x = graph->dst;
    take.y = out->dst;
    ETX_CHECK(ops->gather_int32(context->stream, &take));
    if (graph->score != NULL)
        ETX_CHECK(ops->gather(context->stream, &gather));
done:
    return status;
}

etx_status etx_graph_subset_at(struct etx_graph **out,
    struct etx_context *context, const struct etx_graph *graph,
    int64_t n_selected, const int32_t *selected)
{
    struct etx_graph *subset = NULL;
    etx_status status;

    if (context->stream->memory == NULL)
        return etx_graph_subset(
            out, context->stream->pool, graph, n_selected, selected);
    ETX_CHECK(make_room(&subset, context->stream->memory, graph->n_nodes,
        n_selected, true, graph->score != NULL));
    ETX_CHECK(take_edges(subset, context, graph, selected));
    ETX_CHECK(index_edges(subset, context, subset->src, subset->dst));
    *out = subset;
    subset = NULL;
done:
    etx_graph_free(subset);
    return status;
}

etx_status etx_graph_double_values(float *out, struct etx_context *context,
    const int32_t *slot, const float *values, int64_t n_edges)
{
    struct etx_scatter_args args = {
        .n_rows = n_edges, .width = 1, .x = values, .index = slot, .y = out};
    etx_status status;

    ETX_CHECK(context->ops->scatter(context->stream, &args));
    args.index = slot + n_edges;
    ETX_CHECK(context->ops->scatter(context->stream, &args));
done:
    return status;
}

/* Scores of the doubled graph. */
static etx_status double_scores(struct etx_graph *both,
    struct etx_context *context, const int32_t *slot,
    const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    if (graph->score == NULL)
        return ETX_OK;
    ETX_CHECK(etx_memory_alloc(&both->score, both->memory, both->n_edges,
        sizeof *both->score, "edge scores"));
    ETX_CHECK(etx_graph_double_values(
        both->score, context, slot, graph->score, graph->n_edges));
done:
    return status;
}

/* src, dst [2 * n_edges] at the context's place. */
static etx_status double_ends(int32_t *src, int32_t *dst, int32_t *slot,
    struct etx_context *context, const struct etx_graph *graph)
{
    const struct etx_double_edges_args args = {.n_nodes = graph->n_nodes,
        .n_edges = graph->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .out_edge = graph->out_edge,
        .both_src = src,
        .both_dst = dst,
        .slot = slot};

    return context->ops->double_edges(context->stream, &args);
}

etx_status etx_graph_double(struct etx_graph **out, int32_t *slot,
    struct etx_context *context, const struct etx_graph *graph)
{
    const struct etx_memory *where = context->stream->memory;
    const int64_t n = 2 * graph->n_edges;
    struct etx_graph *both = NULL;
    int32_t *src = NULL;
    int32_t *dst = NULL;
    etx_status status;

    if (n > INT32_MAX)
        return etx_fail(ETX_ERR_LIMIT,
            "both directions of %" PRId64 " edges are more than %d edges",
            graph->n_edges, INT32_MAX);
    ETX_CHECK(etx_memory_alloc(&src, where, n, sizeof *src, "edge sources"));
    ETX_CHECK(
        etx_memory_alloc(&dst, where, n, sizeof *dst, "edge destinations"));
    ETX_CHECK(double_ends(src, dst, slot, context, graph));
    ETX_CHECK(etx_graph_adopt_at(&both, context, graph->n_nodes, n, src, dst));
    src = dst = NULL;
    ETX_CHECK(double_scores(both, context, slot, graph));
    *out = both;
    both = NULL;
done:
    etx_memory_free(where, src);
    etx_memory_free(where, dst);
    etx_graph_free(both);
    return status;
}

/* One way of copying between a place and the host. */
typedef etx_status (*copy_function)(const struct etx_memory *slot, void *to,
    const void *from, int64_t count, size_t size);

static etx_status copy_arrays(struct etx_graph *to,
    const struct etx_graph *from, const struct etx_memory *slot,
    copy_function copy)
{
    const int64_t n = from->n_edges;
    const int64_t n_offsets = from->n_nodes + 1;
    etx_status status;

    ETX_CHECK(copy(slot, to->src, from->src, n, sizeof *to->src));
    ETX_CHECK(copy(slot, to->dst, from->dst, n, sizeof *to->dst));
    ETX_CHECK(
        copy(slot, to->out_edge, from->out_edge, n, sizeof *to->out_edge));
    ETX_CHECK(copy(slot, to->in_offset, from->in_offset, n_offsets,
        sizeof *to->in_offset));
    ETX_CHECK(copy(slot, to->out_offset, from->out_offset, n_offsets,
        sizeof *to->out_offset));
    if (from->score != NULL)
        ETX_CHECK(copy(slot, to->score, from->score, n, sizeof *to->score));
done:
    return status;
}

static etx_status copy_graph(struct etx_graph **out,
    const struct etx_graph *graph, const struct etx_memory *target,
    const struct etx_memory *device, copy_function way)
{
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(make_room(&copy, target, graph->n_nodes, graph->n_edges, true,
        graph->score != NULL));
    ETX_CHECK(copy_arrays(copy, graph, device, way));
    *out = copy;
    copy = NULL;
done:
    etx_graph_free(copy);
    return status;
}

etx_status etx_graph_to_device(struct etx_graph **out,
    const struct etx_context *context, const struct etx_graph *graph)
{
    const struct etx_memory *slot = context->stream->memory;

    return copy_graph(out, graph, slot, slot, etx_memory_to_device);
}

etx_status etx_graph_to_host(
    struct etx_graph **out, const struct etx_graph *graph)
{
    return copy_graph(out, graph, NULL, graph->memory, etx_memory_to_host);
}
