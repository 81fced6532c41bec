/* stage/graph_construction/triplets.c -- doublets to triplets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"

etx_status etx_stage_triplets(struct etx_graph **out,
    struct etx_context *context, const struct etx_graph *graph,
    int64_t max_edges)
{
    struct etx_line_graph line = {0};
    const struct etx_line_graph_args args = {
        .n_nodes = graph->n_nodes,
        .n_doublets = graph->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .out_doublet = graph->out_edge,
        .max_edges = etx_stage_most_edges(context, max_edges),
        .out = &line,
    };
    etx_status status;

    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(context->ops->line_graph(context->stream, &args));
    ETX_CHECK(etx_graph_adopt_line(
        out, context->stream->place, graph->n_edges, &line));
    line = (struct etx_line_graph){0};
done:
    etx_place_release(context->stream->place, line.src);
    etx_place_release(context->stream->place, line.dst);
    etx_place_release(context->stream->place, line.in_offset);
    etx_place_release(context->stream->place, line.out_offset);
    etx_place_release(context->stream->place, line.out_edge);
    return status;
}
