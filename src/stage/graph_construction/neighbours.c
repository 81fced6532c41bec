/* stage/graph_construction/neighbours.c -- points to a graph of neighbours.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"

/* Two ends, an index by source, and what the search needs to sort. */
#define BYTES_PER_EDGE 32

/* *out [n_points] in scratch: edges run from the smaller (key, row) to the
 * larger. */
static etx_status outward_key(float **out, struct etx_context *context,
    const struct etx_neighbours *neighbours)
{
    struct etx_outward_key_args args = {.n = neighbours->n_points};
    etx_status status;

    ETX_SCRATCH(args.key, context->stream->arena, args.n, "outward order");
    ETX_CHECK(etx_stage_to_device(&args.position, context, neighbours->position,
        3 * args.n, "positions of hits"));
    ETX_CHECK(context->ops->outward_key(context->stream, &args));
    *out = args.key;
done:
    return status;
}

int64_t etx_stage_max_edges(
    const struct etx_context *context, int64_t max_edges)
{
    const int64_t limit = context->options.memory_limit;

    if (limit == 0 || max_edges <= limit / BYTES_PER_EDGE)
        return max_edges;
    return limit / BYTES_PER_EDGE;
}

int64_t etx_stage_free_edges(
    const struct etx_context *context, int64_t n_points, int64_t max_edges)
{
    const int64_t by_points = ETX_MAX_EDGES_PER_POINT * n_points;
    const int64_t bound =
        by_points > ETX_MAX_FREE_EDGES ? by_points : ETX_MAX_FREE_EDGES;

    if (context->options.memory_limit == 0 && max_edges == INT32_MAX &&
        bound < INT32_MAX)
        return bound;
    return etx_stage_max_edges(context, max_edges);
}

etx_status etx_stage_neighbours(struct etx_graph **out,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    etx_status status = ETX_OK;
    float *key = NULL;
    struct etx_edge_list list = {0, NULL, NULL};
    struct etx_radius_graph_args args = {0};
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    if (neighbours->orientation == ETX_ORIENT_OUTWARD)
        ETX_CHECK(outward_key(&key, context, neighbours));
    args.n_points = neighbours->n_points;
    args.n_dim = neighbours->n_dim;
    args.max_neighbours = neighbours->max_neighbours;
    args.both = neighbours->orientation == ETX_ORIENT_BOTH;
    args.radius = neighbours->radius;
    args.point = neighbours->point;
    args.key = key;
    args.max_edges = neighbours->max_neighbours == 0
                         ? etx_stage_free_edges(context, neighbours->n_points,
                               neighbours->max_edges)
                         : etx_stage_max_edges(context, neighbours->max_edges);
    args.out = &list;
    ETX_CHECK(context->ops->radius_graph(context->stream, &args));
    if (neighbours->ends_only)
        ETX_CHECK(etx_graph_adopt_ends(out, context, neighbours->n_points,
            list.n_edges, list.src, list.dst));
    else
        ETX_CHECK(etx_graph_adopt(out, context, neighbours->n_points,
            list.n_edges, list.src, list.dst, NULL));
    list.src = NULL;
    list.dst = NULL;
done:
    etx_memory_free(context->stream->memory, list.src);
    etx_memory_free(context->stream->memory, list.dst);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
