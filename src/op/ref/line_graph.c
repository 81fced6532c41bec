/* op/ref/line_graph.c -- doublets as nodes, joined where they share a hit.
 *
 * Count, sum, fill: doublet b has the doublets into its source before it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <inttypes.h>

#define CANCEL_ROWS 65536

static int64_t doublets_into(
    const struct etx_line_graph_args *args, int64_t node)
{
    return args->in_offset[node + 1] - args->in_offset[node];
}

static int64_t doublets_out_of(
    const struct etx_line_graph_args *args, int64_t node)
{
    return args->out_offset[node + 1] - args->out_offset[node];
}

static etx_status count_edges(
    struct etx_line_graph *graph, const struct etx_line_graph_args *args)
{
    for (int64_t a = 0; a < args->n_doublets; a++) {
        graph->in_offset[a + 1] =
            graph->in_offset[a] + doublets_into(args, args->src[a]);
        graph->out_offset[a + 1] =
            graph->out_offset[a] + doublets_out_of(args, args->dst[a]);
    }
    graph->n_edges = graph->in_offset[args->n_doublets];
    if (graph->n_edges <= args->max_edges)
        return ETX_OK;
    return etx_fail(ETX_ERR_LIMIT,
        "line_graph: %" PRId64 " edges between %" PRId64
        " doublets are more than max_edges = %" PRId64,
        graph->n_edges, args->n_doublets, args->max_edges);
}

static etx_status fill_edges(struct etx_line_graph *graph,
    const struct etx_stream *stream, const struct etx_line_graph_args *args)
{
    int64_t edge = 0;
    etx_status status = ETX_OK;

    for (int64_t b = 0; b < args->n_doublets; b++) {
        const int32_t node = args->src[b];
        if (b % CANCEL_ROWS == 0)
            ETX_CHECK(etx_check_cancelled(stream));
        for (int64_t a = args->in_offset[node]; a < args->in_offset[node + 1];
             a++) {
            graph->src[edge] = (int32_t)a;
            graph->dst[edge++] = (int32_t)b;
        }
    }
done:
    return status;
}

/* The edges into b have the doublets into their hit as sources, in order: the
 * one from a is as many after the first as a is after the first of these
 * doublets. */
static void fill_out_edges(
    struct etx_line_graph *graph, const struct etx_line_graph_args *args)
{
    int64_t cursor = 0;

    for (int64_t a = 0; a < args->n_doublets; a++) {
        const int32_t node = args->dst[a];
        for (int64_t t = args->out_offset[node]; t < args->out_offset[node + 1];
             t++) {
            const int32_t b = args->out_doublet[t];
            graph->out_edge[cursor++] =
                (int32_t)(graph->in_offset[b] + a - args->in_offset[node]);
        }
    }
}

etx_status etx_ref_line_graph(
    struct etx_stream *stream, const struct etx_line_graph_args *args)
{
    struct etx_line_graph graph = {0};
    etx_status status;

    ETX_NEW(graph.in_offset, args->n_doublets + 1, "edges into doublets");
    ETX_NEW(graph.out_offset, args->n_doublets + 1, "edges out of doublets");
    ETX_CHECK(count_edges(&graph, args));
    ETX_NEW(graph.src, graph.n_edges, "sources of triplets");
    ETX_NEW(graph.dst, graph.n_edges, "targets of triplets");
    ETX_NEW(graph.out_edge, graph.n_edges, "triplets by source");
    ETX_CHECK(fill_edges(&graph, stream, args));
    fill_out_edges(&graph, args);
    *args->out = graph;
    graph = (struct etx_line_graph){0};
done:
    etx_free(graph.src);
    etx_free(graph.dst);
    etx_free(graph.in_offset);
    etx_free(graph.out_offset);
    etx_free(graph.out_edge);
    return status;
}
