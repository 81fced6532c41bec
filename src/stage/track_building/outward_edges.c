/* stage/track_building/outward_edges.c -- the edges above a cut, directed
 * outward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/outward_edges.h"

#include "base/check.h"

etx_status etx_outward_edges_choose(struct etx_outward_edges *out,
    struct etx_context *context, const struct etx_graph *graph,
    const float *position, float cut)
{
    struct etx_arena *arena = context->stream->arena;
    const int64_t n = graph->n_edges;
    struct etx_outward_edges edges = {.max_edges = n};
    etx_status status;

    ETX_SCRATCH(edges.key, arena, graph->n_nodes, "distances of hits");
    const struct etx_outward_key_args key = {
        .n = graph->n_nodes, .position = position, .key = edges.key};
    ETX_CHECK(context->ops->outward_key(context->stream, &key));
    ETX_SCRATCH(edges.n, arena, 1, "edges above the cut");
    ETX_SCRATCH(edges.tail, arena, n, "edges above the cut");
    ETX_SCRATCH(edges.head, arena, n, "edges above the cut");
    ETX_SCRATCH(edges.score, arena, n, "edges above the cut");
    const struct etx_outward_edges_args direct = {.n_edges = n,
        .src = graph->src,
        .dst = graph->dst,
        .edge_score = graph->score,
        .cut = cut,
        .key = edges.key,
        .tail = edges.tail,
        .head = edges.head,
        .score = edges.score,
        .n = edges.n};
    ETX_CHECK(context->ops->outward_edges(context->stream, &direct));
    *out = edges;
done:
    return status;
}
