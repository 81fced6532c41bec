/* stage/graph_construction/build.c -- an event to its candidate graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"

static int32_t reads_ends_only(const struct etx_network *network)
{
    return network == NULL || network->arch->reads_ends_only;
}

static etx_status build_radius(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, int32_t for_filter)
{
    etx_status status = ETX_OK;
    float *point = NULL;
    const int64_t *bad = NULL;
    struct etx_graph *graph = NULL;
    struct etx_neighbours neighbours = {0};
    struct etx_stage_clock clock = {.stage = ETX_STAGE_GRAPH};
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    /* The search among two points or more waits. */
    ETX_CHECK(etx_stage_infer_points(
        &point, event->n_hits > 1 ? &bad : NULL, context, model, event));
    clock = etx_stage_begin(context, ETX_STAGE_GRAPH);
    neighbours.n_points = event->n_hits;
    neighbours.n_dim = model->embedding.network->n_out;
    neighbours.max_neighbours = model->max_neighbours;
    neighbours.orientation = model->orientation;
    neighbours.radius = model->radius;
    neighbours.point = point;
    neighbours.position = event->position;
    neighbours.max_edges = INT32_MAX;
    neighbours.ends_only = for_filter &&
                           reads_ends_only(model->cascade.network) &&
                           reads_ends_only(model->filter.network);
    ETX_CHECK(etx_stage_bound_radius(
        &neighbours.radius, context, &neighbours, model->graph_max_edges));
    ETX_CHECK(etx_stage_neighbours(&graph, context, &neighbours));
    ETX_CHECK(etx_stage_check_points(bad, neighbours.n_dim));
    ETX_CHECK(etx_stage_end(context, &clock, graph->n_edges));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

etx_status etx_stage_build_graph(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, int32_t for_filter)
{
    if (model->module_map != NULL)
        return etx_stage_build_map(out, context, model, event, INT32_MAX);
    return build_radius(out, context, model, event, for_filter);
}
