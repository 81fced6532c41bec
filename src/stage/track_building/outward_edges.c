/* stage/track_building/outward_edges.c -- the edges above a cut, directed
 * outward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/outward_edges.h"

#include "base/check.h"

/* After the filter few edges are above the cut: select them once. */
etx_status etx_outward_edges_choose(struct etx_outward_edges *out,
    struct etx_context *context, const struct etx_graph *graph,
    const float *position, float cut)
{
    struct etx_arena *arena = context->stream->arena;
    struct etx_outward_edges edges = {.n = 0};
    int32_t *selected = NULL;
    int64_t n_selected = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&edges.key, arena, graph->n_nodes,
        sizeof *edges.key, "distances of hits"));
    const struct etx_outward_key_args key = {
        .n = graph->n_nodes, .position = position, .key = edges.key};
    ETX_CHECK(context->ops->outward_key(context->stream, &key));
    ETX_CHECK(etx_arena_alloc(&selected, arena, graph->n_edges,
        sizeof *selected, "edges above the cut"));
    const struct etx_edge_select_args select = {
        .n_edges = graph->n_edges,
        .score = graph->score,
        .cut = cut,
        .selected = selected,
        .n_selected = &n_selected,
    };
    ETX_CHECK(context->ops->edge_select(context->stream, &select));
    ETX_CHECK(etx_arena_alloc(&edges.tail, arena, n_selected,
        sizeof *edges.tail, "edges above the cut"));
    ETX_CHECK(etx_arena_alloc(&edges.head, arena, n_selected,
        sizeof *edges.head, "edges above the cut"));
    ETX_CHECK(etx_arena_alloc(&edges.score, arena, n_selected,
        sizeof *edges.score, "edges above the cut"));
    const struct etx_outward_edges_args direct = {.n_selected = n_selected,
        .selected = selected,
        .src = graph->src,
        .dst = graph->dst,
        .edge_score = graph->score,
        .key = edges.key,
        .tail = edges.tail,
        .head = edges.head,
        .score = edges.score,
        .n = &edges.n};
    ETX_CHECK(context->ops->outward_edges(context->stream, &direct));
    *out = edges;
done:
    return status;
}
