/* data/graph_double.c -- graphs with both directions of every edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph_double.h"

#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>

/* The same with values [n_edges, width]. */
static etx_status double_rows(float *out, struct etx_context *context,
    const int32_t *slot, const float *values, int64_t n_edges, int32_t width)
{
    struct etx_scatter_args args = {.n_rows = n_edges,
        .width = width,
        .x = values,
        .index = slot,
        .y = out};
    etx_status status;

    ETX_CHECK(context->ops->scatter(context->stream, &args));
    args.index = slot + n_edges;
    ETX_CHECK(context->ops->scatter(context->stream, &args));
done:
    return status;
}

etx_status etx_graph_double_values(float *out, struct etx_context *context,
    const int32_t *slot, const float *values, int64_t n_edges)
{
    return double_rows(out, context, slot, values, n_edges, 1);
}

static etx_status double_features(struct etx_graph *both,
    struct etx_context *context, const int32_t *slot,
    const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    if (graph->features == NULL)
        return ETX_OK;
    ETX_CHECK(etx_graph_alloc_features(both, graph->n_features));
    ETX_CHECK(double_rows(both->features, context, slot, graph->features,
        graph->n_edges, graph->n_features));
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
    ETX_ALLOC(both->score, both->memory, both->n_edges, "edge scores");
    ETX_CHECK(etx_graph_double_values(
        both->score, context, slot, graph->score, graph->n_edges));
done:
    return status;
}

/* src, dst [2 * n_edges]. */
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
    const struct etx_memory *memory = context->stream->memory;
    const int64_t n = 2 * graph->n_edges;
    struct etx_graph *both = NULL;
    int32_t *src = NULL;
    int32_t *dst = NULL;
    etx_status status;

    if (n > INT32_MAX)
        return etx_fail(ETX_ERR_LIMIT,
            "both directions of %" PRId64 " edges are more than %d edges",
            graph->n_edges, INT32_MAX);
    ETX_ALLOC(src, memory, n, "edge sources");
    ETX_ALLOC(dst, memory, n, "edge destinations");
    ETX_CHECK(double_ends(src, dst, slot, context, graph));
    ETX_CHECK(
        etx_graph_adopt(&both, context, graph->n_nodes, n, src, dst, NULL));
    src = dst = NULL;
    ETX_CHECK(double_scores(both, context, slot, graph));
    ETX_CHECK(double_features(both, context, slot, graph));
    *out = both;
    both = NULL;
done:
    etx_memory_free(memory, src);
    etx_memory_free(memory, dst);
    etx_graph_free(both);
    return status;
}
