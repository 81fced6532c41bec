/* stage/graph_construction/neighbours.c -- points to a graph of neighbours.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

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

/* Edges by the row of one end, in 0 .. n_points - 1, edges of one row in the
 * order of `from`, NULL: as they are. cursor [n_points + 1] is overwritten. */
static etx_status group_edges(int32_t *order, const int32_t *from,
    const int32_t *end, int64_t n, int64_t *cursor, int64_t n_points,
    const struct etx_stream *stream)
{
    etx_status status = ETX_OK;

    memset(cursor, 0, (size_t)(n_points + 1) * sizeof *cursor);
    for (int64_t e = 0; e < n; e++) {
        ETX_POLL_STREAM(stream, e);
        cursor[end[e] + 1]++;
    }
    for (int64_t k = 0; k < n_points; k++)
        cursor[k + 1] += cursor[k];
    for (int64_t k = 0; k < n; k++) {
        const int32_t e = from == NULL ? (int32_t)k : from[k];

        ETX_POLL_STREAM(stream, k);
        order[cursor[end[e]]++] = e;
    }
done:
    return status;
}

/* Turn edges to run from the smaller (key, row) to the larger; key NULL: by
 * row. */
static etx_status turn_edges(int32_t *src, int32_t *dst, int64_t n_edges,
    const float *key, const struct etx_stream *stream)
{
    etx_status status = ETX_OK;

    for (int64_t e = 0; e < n_edges; e++) {
        const int32_t a = src[e];
        const int32_t b = dst[e];
        const int32_t is_turned =
            key == NULL || key[a] == key[b] ? b < a : key[b] < key[a];

        ETX_POLL_STREAM(stream, e);
        src[e] = is_turned ? b : a;
        dst[e] = is_turned ? a : b;
    }
done:
    return status;
}

/* list has the edges from each point to its nearest, in both directions or in
 * one. Then it has each pair once, turned, in the order of a graph. On the
 * host, as few models want it. */
static etx_status pair_edges(struct etx_edge_list *list,
    struct etx_context *context, const float *key, int64_t n_points)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_memory *memory = context->stream->memory;
    const int64_t n = list->n_edges;
    int32_t *end[2] = {NULL, NULL};   /* [n] src, dst */
    int32_t *order[2] = {NULL, NULL}; /* [n] by src, by dst and src */
    int64_t *cursor = NULL;
    float *by = NULL;
    int64_t count = 0;
    etx_status status;

    for (int k = 0; k < 2; k++) {
        ETX_SCRATCH(end[k], arena, n, "ends of edges");
        ETX_SCRATCH(order[k], arena, n, "order of edges");
    }
    ETX_SCRATCH(cursor, arena, n_points + 1, "edges of points");
    ETX_SCRATCH(by, arena, key == NULL ? 0 : n_points, "outward order");
    ETX_CHECK(etx_memory_to_host(memory, end[0], list->src, n, sizeof *end[0]));
    ETX_CHECK(etx_memory_to_host(memory, end[1], list->dst, n, sizeof *end[1]));
    if (key != NULL)
        ETX_CHECK(etx_memory_to_host(memory, by, key, n_points, sizeof *by));
    ETX_CHECK(turn_edges(
        end[0], end[1], n, key == NULL ? NULL : by, context->stream));
    for (int k = 0; k < 2; k++)
        ETX_CHECK(group_edges(order[k], k == 0 ? NULL : order[0], end[k], n,
            cursor, n_points, context->stream));
    /* Each pair once; its ends lie over orders that were read already. */
    for (int64_t k = 0; k < n; k++) {
        const int32_t e = order[1][k];

        ETX_POLL_STREAM(context->stream, k);
        if (count > 0 && order[0][count - 1] == end[0][e] &&
            order[1][count - 1] == end[1][e])
            continue;
        order[0][count] = end[0][e];
        order[1][count++] = end[1][e];
    }
    ETX_CHECK(etx_memory_to_device(
        memory, list->src, order[0], count, sizeof *order[0]));
    ETX_CHECK(etx_memory_to_device(
        memory, list->dst, order[1], count, sizeof *order[1]));
    list->n_edges = count;
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Each pair of nearest neighbours once, at most max_edges. */
static etx_status find_nearest_pairs(
    struct etx_context *context, struct etx_radius_graph_args *args)
{
    const float *const key = args->key;
    const int64_t max_edges = args->max_edges;
    etx_status status;

    args->both = 1;
    args->key = NULL;
    args->max_edges = max_edges > INT32_MAX / 2 ? INT32_MAX : 2 * max_edges;
    status = context->ops->radius_graph(context->stream, args);
    if (status == ETX_OK)
        status = pair_edges(args->out, context, key, args->n_points);
    if (status == ETX_ERR_LIMIT ||
        (status == ETX_OK && args->out->n_edges > max_edges))
        return etx_fail(ETX_ERR_LIMIT,
            "more than max_edges = %" PRId64
            " pairs of the %d nearest of %" PRId64 " points",
            max_edges, args->max_neighbours, args->n_points);
    return status;
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
    args.max_edges = etx_stage_free_edges(
        context, neighbours->n_points, neighbours->max_edges);
    args.out = &list;
    if (args.max_neighbours > 0 && args.both == 0)
        ETX_CHECK(find_nearest_pairs(context, &args));
    else
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
