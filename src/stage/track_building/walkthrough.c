/* stage/track_building/walkthrough.c -- longest scored paths, outward.
 *
 * Edges are directed outward: from the smaller x^2 + y^2 + z^2 to the
 * larger, ties by row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/track_building.h"

#include "base/check.h"
#include "stage/stage.h"
#include "stage/track_building/outward_edges.h"

/* Visits per edge and hit while the search is exact (README.md: beyond it). */
#define WORK_BUDGET 64

etx_status etx_group_walkthrough(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const float *device_position = NULL;
    struct etx_outward_edges edges;
    int64_t n_edges = 0;
    etx_status status;

    ETX_CHECK(etx_stage_to_device(&device_position, context, position,
        3 * graph->n_nodes, "positions of hits"));
    ETX_CHECK(etx_outward_edges_choose(
        &edges, context, graph, device_position, options->cut));
    ETX_CHECK(etx_memory_to_host(
        graph->memory, &n_edges, edges.n, 1, sizeof n_edges));
    const struct etx_walkthrough_args args = {.n_nodes = graph->n_nodes,
        .n_edges = n_edges,
        .tail = edges.tail,
        .head = edges.head,
        .score = edges.score,
        .key = edges.key,
        .work_budget = WORK_BUDGET,
        .group = group};
    ETX_CHECK(context->ops->walkthrough(context->stream, &args));
done:
    etx_arena_reset(arena, mark);
    return status;
}
