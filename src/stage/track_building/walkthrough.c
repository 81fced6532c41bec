/* stage/track_building/walkthrough.c -- longest scored paths, outward.
 *
 * Edges are directed outward: from the smaller x^2 + y^2 + z^2 to the
 * larger, ties by row. A graph on a device is copied to the host, where the
 * paths are found.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/track_building.h"

#include "base/check.h"
#include "data/graph_mirror.h"
#include "stage/track_building/outward_edges.h"

/* Visits per edge and hit while the search is exact (README.md: beyond it). */
#define WORK_BUDGET 64

static etx_status group_on_host(int32_t *group, struct etx_context *host,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_outward_edges edges;
    etx_status status;

    ETX_CHECK(
        etx_outward_edges_choose(&edges, host, graph, position, options->cut));
    const struct etx_walkthrough_args args = {.n_nodes = graph->n_nodes,
        .n_edges = *edges.n,
        .tail = edges.tail,
        .head = edges.head,
        .score = edges.score,
        .key = edges.key,
        .work_budget = WORK_BUDGET,
        .group = group};
    ETX_CHECK(host->ops->walkthrough(host->stream, &args));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_group_walkthrough(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    struct etx_context *host = etx_host_of(context);
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_graph *copy = NULL;
    int32_t *host_group = NULL;
    etx_status status;

    if (graph->memory == NULL)
        return group_on_host(group, host, graph, position, options);
    ETX_SCRATCH(host_group, arena, graph->n_nodes, "hit groups");
    ETX_CHECK(etx_graph_to_host(&copy, graph));
    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(group_on_host(host_group, host, copy, position, options));
    ETX_CHECK(etx_memory_to_device(
        graph->memory, group, host_group, graph->n_nodes, sizeof *group));
done:
    etx_graph_free(copy);
    etx_arena_reset(arena, mark);
    return status;
}
