/* stage/graph_construction/build.c -- an event to its candidate graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"

static int32_t reads_ends_only(const struct etx_network *network)
{
    return network == NULL || network->arch->reads_ends_only;
}

/* *point [n_hits, n_dim + 1]: before the coordinates of each hit one of its
 * event. Events are further apart than any radius, and the coordinate adds
 * exactly nothing to the distance of hits of one event. */
static etx_status separate_events(float **point, struct etx_context *context,
    const struct etx_event *event, int32_t n_dim, float radius)
{
    struct etx_arena *arena = context->stream->arena;
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    struct etx_columns_args of_events = {.n_rows = event->n_hits,
        .width = 1,
        .x_stride = 1,
        .y_stride = (int64_t)n_dim + 1};
    struct etx_columns_args of_hits = {.n_rows = event->n_hits,
        .width = n_dim,
        .x_stride = n_dim,
        .y_stride = (int64_t)n_dim + 1,
        .x = *point};
    float *at = NULL;
    etx_status status;

    ETX_SCRATCH(at, host, event->n_hits, "joined events");
    for (int32_t e = 0; e < event->n_joined; e++)
        for (int64_t i = event->first_hit[e]; i < event->first_hit[e + 1]; i++)
            at[i] = 4.0f * radius * (float)e;
    ETX_CHECK(etx_arena_to_device(
        &of_events.x, arena, at, event->n_hits, sizeof *at, "joined events"));
    ETX_CHECK(etx_arena_alloc(&of_events.y, arena,
        event->n_hits * of_events.y_stride, sizeof(float), "joined events"));
    of_hits.y = of_events.y + 1;
    ETX_CHECK(context->ops->columns(context->stream, &of_events));
    ETX_CHECK(context->ops->columns(context->stream, &of_hits));
    *point = of_events.y;
done:
    return status;
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
    const struct etx_scratch_mark mark = etx_scratch_mark(context);

    /* The search among two points or more waits. */
    ETX_CHECK(etx_stage_infer_points(
        &point, event->n_hits > 1 ? &bad : NULL, context, model, event));
    clock = etx_stage_begin(context, ETX_STAGE_GRAPH);
    neighbours.n_points = event->n_hits;
    neighbours.n_dim = model->embedding.network->n_out;
    neighbours.max_neighbours = model->max_neighbours;
    neighbours.orientation = model->orientation;
    neighbours.radius = model->radius;
    if (event->n_joined > 0)
        ETX_CHECK(separate_events(
            &point, context, event, neighbours.n_dim++, model->radius));
    neighbours.point = point;
    neighbours.position = event->position;
    neighbours.max_edges = INT32_MAX;
    neighbours.ends_only = for_filter && reads_ends_only(model->filter.network);
    if (event->n_joined > 0)
        ETX_CHECK(etx_stage_check_radius(
            context, &neighbours, event, model->graph_max_edges));
    else
        ETX_CHECK(etx_stage_bound_radius(
            &neighbours.radius, context, &neighbours, model->graph_max_edges));
    ETX_CHECK(etx_stage_neighbours(&graph, context, &neighbours));
    ETX_CHECK(etx_stage_check_points(bad, model->embedding.network->n_out));
    ETX_CHECK(etx_stage_end(context, &clock, graph->n_edges));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    etx_scratch_reset(context, mark);
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
