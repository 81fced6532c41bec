/* stage/track_building/best_first.c -- chains of hits, best edge first.
 *
 * Edges run outward, so no chain can close on itself.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/track_building.h"

#include "base/check.h"
#include "stage/stage.h"
#include "stage/track_building/outward_edges.h"

etx_status etx_group_best_first(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_best_first_args args = {.n_nodes = graph->n_nodes,
        .sure_cut = options->sure_cut,
        .strong_cut = options->strong_cut,
        .max_curvature_change = options->max_curvature_change,
        .max_polar_change = options->max_polar_change,
        .support_hits = options->support_hits,
        .group = group};
    struct etx_outward_edges edges;
    etx_status status;

    ETX_CHECK(etx_stage_to_device(&args.position, context, position,
        3 * graph->n_nodes, "positions of hits"));
    ETX_CHECK(etx_outward_edges_choose(
        &edges, context, graph, args.position, options->cut));
    args.max_edges = edges.max_edges;
    args.n_edges = edges.n;
    args.tail = edges.tail;
    args.head = edges.head;
    args.score = edges.score;
    ETX_CHECK(context->ops->best_first(context->stream, &args));
done:
    etx_arena_reset(arena, mark);
    return status;
}
