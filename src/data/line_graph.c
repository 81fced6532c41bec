/* data/line_graph.c -- the graph whose nodes are the edges of another.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/line_graph.h"

#include "base/check.h"
#include "base/heap.h"

/* Take ownership of the arrays of line; on error the caller keeps them. */
static etx_status adopt(struct etx_graph **out, const struct etx_memory *memory,
    int64_t n_doublets, const struct etx_line_graph *line)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_NEW(graph, 1, "graph of triplets");
    *graph = (struct etx_graph){
        .memory = memory,
        .n_nodes = n_doublets,
        .n_edges = line->n_edges,
        .src = line->src,
        .dst = line->dst,
        .in_offset = line->in_offset,
        .out_offset = line->out_offset,
        .out_edge = line->out_edge,
    };
    *out = graph;
done:
    return status;
}

etx_status etx_graph_line(struct etx_graph **out, struct etx_context *context,
    const struct etx_graph *graph, int64_t max_edges)
{
    const struct etx_memory *memory = context->stream->memory;
    struct etx_line_graph line = {0};
    const struct etx_line_graph_args args = {
        .n_nodes = graph->n_nodes,
        .n_doublets = graph->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .out_doublet = graph->out_edge,
        .max_edges = max_edges,
        .out = &line,
    };
    etx_status status;

    ETX_CHECK(context->ops->line_graph(context->stream, &args));
    ETX_CHECK(adopt(out, memory, graph->n_edges, &line));
    line = (struct etx_line_graph){0};
done:
    etx_memory_free(memory, line.src);
    etx_memory_free(memory, line.dst);
    etx_memory_free(memory, line.in_offset);
    etx_memory_free(memory, line.out_offset);
    etx_memory_free(memory, line.out_edge);
    return status;
}
