/* stage/track_building/outward_edges.c -- the edges of tracks, inside first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/outward_edges.h"

#include "base/check.h"

#include <stdbool.h>

/* selected [n_selected] becomes edges->head: its place is written after it was
 * read. */
static void turn_outward(struct etx_outward_edges *edges,
    const struct etx_graph *graph, int32_t *selected, int64_t n_selected)
{
    edges->head = selected;
    for (int64_t k = 0; k < n_selected; k++) {
        const int32_t e = selected[k];
        const int32_t a = graph->src[e];
        const int32_t b = graph->dst[e];
        const bool is_outward = edges->key[a] < edges->key[b] ||
                                (a < b && edges->key[a] == edges->key[b]);

        if (a == b)
            continue;
        edges->tail[edges->n] = is_outward ? a : b;
        edges->head[edges->n] = is_outward ? b : a;
        edges->score[edges->n++] = graph->score[e];
    }
}

/* Few edges are left of a filtered graph: choose them once. */
etx_status etx_outward_edges_choose(struct etx_outward_edges *out,
    struct etx_context *context, const struct etx_graph *graph,
    const float *position, float cut)
{
    struct etx_arena *arena = context->stream->arena;
    struct etx_outward_edges edges = {.n = 0};
    int32_t *selected = NULL;
    int64_t n_selected = 0;
    etx_status status;

    ETX_CHECK(etx_arena_take(&edges.key, arena, graph->n_nodes,
        sizeof *edges.key, "distances of hits"));
    const struct etx_outward_key_args key = {
        .n = graph->n_nodes, .position = position, .key = edges.key};
    ETX_CHECK(context->ops->outward_key(context->stream, &key));
    ETX_CHECK(etx_arena_take(&selected, arena, graph->n_edges,
        sizeof *selected, "edges above the cut"));
    const struct etx_edge_select_args select = {
        .n_edges = graph->n_edges,
        .score = graph->score,
        .cut = cut,
        .selected = selected,
        .n_selected = &n_selected,
    };
    ETX_CHECK(context->ops->edge_select(context->stream, &select));
    ETX_CHECK(etx_arena_take(&edges.tail, arena, n_selected,
        sizeof *edges.tail, "edges above the cut"));
    ETX_CHECK(etx_arena_take(&edges.score, arena, n_selected,
        sizeof *edges.score, "edges above the cut"));
    turn_outward(&edges, graph, selected, n_selected);
    *out = edges;
done:
    return status;
}
