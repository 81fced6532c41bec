/* data/graph.c -- directed edges between hits, indexed from both ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 65536 /* edges per block of work */

/* ETX_ERR_LIMIT when one of the counts is above 2^31 - 1. */
static etx_status check_size(int64_t n_nodes, int64_t n_edges)
{
    if (n_nodes > INT32_MAX || n_edges > INT32_MAX)
        return etx_fail(ETX_ERR_LIMIT,
            "graph: %" PRId64 " nodes and %" PRId64
            " edges: neither may be above %d",
            n_nodes, n_edges, INT32_MAX);
    return ETX_OK;
}

static etx_status alloc_edges(
    struct etx_graph *graph, const struct etx_memory *memory, bool with_score)
{
    const int64_t n = graph->n_edges;
    etx_status status;

    ETX_ALLOC(graph->src, memory, n, "edge sources");
    ETX_ALLOC(graph->dst, memory, n, "edge destinations");
    if (with_score)
        ETX_ALLOC(graph->score, memory, n, "edge scores");
done:
    return status;
}

static etx_status alloc_index(
    struct etx_graph *graph, const struct etx_memory *memory)
{
    const int64_t n = graph->n_nodes + 1;
    etx_status status;

    ETX_ALLOC(graph->in_offset, memory, n, "edges into nodes");
    ETX_ALLOC(graph->out_offset, memory, n, "edges out of nodes");
    ETX_ALLOC(graph->out_edge, memory, graph->n_edges, "edges by source");
done:
    return status;
}

/* A graph without arrays. */
static etx_status create(struct etx_graph **out,
    const struct etx_memory *memory, int64_t n_nodes, int64_t n_edges)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(check_size(n_nodes, n_edges));
    ETX_NEW(graph, 1, "graph");
    graph->memory = memory;
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    *out = graph;
done:
    return status;
}

etx_status etx_graph_alloc(struct etx_graph **out,
    const struct etx_memory *memory, int64_t n_nodes, int64_t n_edges,
    int32_t with_score)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(create(&graph, memory, n_nodes, n_edges));
    ETX_CHECK(alloc_edges(graph, memory, with_score));
    ETX_CHECK(alloc_index(graph, memory));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

/* ----------------------------------------------------------------- index -- */

/* Offsets and edges by source, from src and dst. */
static etx_status index_edges(struct etx_graph *graph,
    struct etx_context *context, const int32_t *src, const int32_t *dst)
{
    struct etx_stream serial = {0};
    const struct etx_graph_index_args args = {
        .n_nodes = graph->n_nodes,
        .n_edges = graph->n_edges,
        .src = src,
        .dst = dst,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .out_edge = graph->out_edge,
    };

    if (context == NULL)
        return etx_op_ref.graph_index(&serial, &args);
    return context->ops->graph_index(context->stream, &args);
}

static const struct etx_memory *memory_of(const struct etx_context *context)
{
    return context != NULL ? context->stream->memory : NULL;
}

etx_status etx_graph_adopt(struct etx_graph **out, struct etx_context *context,
    int64_t n_nodes, int64_t n_edges, int32_t *src, int32_t *dst, float *score)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(create(&graph, memory_of(context), n_nodes, n_edges));
    ETX_CHECK(alloc_index(graph, graph->memory));
    ETX_CHECK(index_edges(graph, context, src, dst));
    graph->src = src;
    graph->dst = dst;
    graph->score = score;
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_graph_adopt_ends(struct etx_graph **out,
    const struct etx_context *context, int64_t n_nodes, int64_t n_edges,
    int32_t *src, int32_t *dst)
{
    etx_status status;

    ETX_CHECK(create(out, memory_of(context), n_nodes, n_edges));
    (*out)->src = src;
    (*out)->dst = dst;
done:
    return status;
}

/* -------------------------------------------------------------- features -- */

void etx_graph_adopt_features(
    struct etx_graph *graph, int32_t n_features, float *features)
{
    etx_memory_free(graph->memory, graph->features);
    graph->n_features = n_features;
    graph->features = features;
}

etx_status etx_graph_alloc_features(struct etx_graph *graph, int32_t n_features)
{
    float *features = NULL;
    etx_status status = ETX_OK;

    if (n_features == 0)
        return ETX_OK;
    ETX_CHECK(etx_memory_alloc(&features, graph->memory, graph->n_edges,
        (size_t)n_features * sizeof *features, "features of edges"));
    etx_graph_adopt_features(graph, n_features, features);
done:
    return status;
}

/* ---------------------------------------------------------------- subset -- */

struct selection {
    struct etx_graph *out;
    const struct etx_graph *graph;
    const int32_t *selected; /* [out->n_edges] */
};

static etx_status copy_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct selection *selection = argument;
    const struct etx_graph *graph = selection->graph;
    struct etx_graph *out = selection->out;

    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const int32_t e = selection->selected[k];

        out->src[k] = graph->src[e];
        out->dst[k] = graph->dst[e];
        if (out->score != NULL)
            out->score[k] = graph->score[e];
        if (out->features != NULL)
            memcpy(out->features + k * out->n_features,
                graph->features + (int64_t)e * out->n_features,
                (size_t)out->n_features * sizeof *out->features);
    }
    return ETX_OK;
}

/* On the host all arrays of an edge in one pass. */
static etx_status copy_on_host(
    struct selection *selection, const struct etx_context *context)
{
    return etx_parallel_ranges(context != NULL ? context->stream->pool : NULL,
        selection->out->n_edges, BLOCK, copy_block, selection);
}

static etx_status copy_on_device(
    const struct selection *selection, struct etx_context *context)
{
    const struct etx_op_table *ops = context->ops;
    const struct etx_graph *graph = selection->graph;
    struct etx_graph *out = selection->out;
    const struct etx_gather_edges_args edges = {.n = out->n_edges,
        .index = selection->selected,
        .src = graph->src,
        .dst = graph->dst,
        .score = graph->score,
        .src_out = out->src,
        .dst_out = out->dst,
        .score_out = out->score};
    const struct etx_gather_args features = {.n_rows = out->n_edges,
        .width = out->n_features,
        .x = graph->features,
        .index = selection->selected,
        .y = out->features};
    etx_status status;

    ETX_CHECK(ops->gather_edges(context->stream, &edges));
    if (graph->features != NULL)
        ETX_CHECK(ops->gather(context->stream, &features));
done:
    return status;
}

etx_status etx_graph_subset(struct etx_graph **out, struct etx_context *context,
    const struct etx_graph *graph, int64_t n_selected, const int32_t *selected)
{
    struct selection selection = {.graph = graph, .selected = selected};
    etx_status status;

    ETX_CHECK(etx_graph_alloc(&selection.out, graph->memory, graph->n_nodes,
        n_selected, graph->score != NULL));
    ETX_CHECK(etx_graph_alloc_features(selection.out, graph->n_features));
    if (graph->memory == NULL)
        ETX_CHECK(copy_on_host(&selection, context));
    else
        ETX_CHECK(copy_on_device(&selection, context));
    ETX_CHECK(index_edges(
        selection.out, context, selection.out->src, selection.out->dst));
    *out = selection.out;
    selection.out = NULL;
done:
    etx_graph_free(selection.out);
    return status;
}

/* ------------------------------------------------------------------ free -- */

void etx_graph_drop_mirror(struct etx_graph *graph)
{
    struct etx_graph **link;

    if (graph->mirror == NULL)
        return;
    link = &graph->mirror_context->mirrored;
    while (*link != graph)
        link = &(*link)->next_mirrored;
    *link = graph->next_mirrored;
    etx_graph_free(graph->mirror);
    graph->mirror = NULL;
}

void etx_graph_free(etx_graph *graph)
{
    if (graph == NULL)
        return;
    etx_graph_drop_mirror(graph);
    etx_memory_free(graph->memory, graph->src);
    etx_memory_free(graph->memory, graph->dst);
    etx_memory_free(graph->memory, graph->in_offset);
    etx_memory_free(graph->memory, graph->out_offset);
    etx_memory_free(graph->memory, graph->out_edge);
    etx_memory_free(graph->memory, graph->score);
    etx_memory_free(graph->memory, graph->features);
    etx_free(graph);
}
