/* stage/track_building/mutual_best.c -- follow edges best at both their ends.
 *
 * Every hit keeps at most one edge in and one out, so the components of the
 * kept edges are paths (or, in a graph with cycles, rings). O(E).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/track_building.h"

#include "base/check.h"

etx_status etx_group_mutual_best(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int32_t *selected = NULL;
    int32_t *src = NULL;
    int32_t *dst = NULL;
    int64_t n_selected = 0;
    etx_status status;

    (void)position;
    ETX_SCRATCH(selected, arena, graph->n_edges, "mutual best edges");
    const struct etx_mutual_best_args best = {
        .n_nodes = graph->n_nodes,
        .n_edges = graph->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .score = graph->score,
        .cut = options->cut,
        .selected = selected,
        .n_selected = &n_selected,
    };
    ETX_CHECK(context->ops->mutual_best(context->stream, &best));
    ETX_SCRATCH(src, arena, n_selected, "mutual best sources");
    ETX_SCRATCH(dst, arena, n_selected, "mutual best targets");
    const struct etx_gather_edges_args ends = {.n = n_selected,
        .index = selected,
        .src = graph->src,
        .dst = graph->dst,
        .src_out = src,
        .dst_out = dst};
    ETX_CHECK(context->ops->gather_edges(context->stream, &ends));
    const struct etx_connected_components_args components = {
        .n_nodes = graph->n_nodes,
        .n_edges = n_selected,
        .src = src,
        .dst = dst,
        .label = group,
    };
    ETX_CHECK(context->ops->connected_components(context->stream, &components));
done:
    etx_arena_reset(arena, mark);
    return status;
}
