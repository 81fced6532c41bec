/* op/ref/radius_graph.c -- all pairs of points within a radius.
 *
 * Brute force: every query is compared with every point. Its edges come out by
 * src; a stable counting sort makes that (dst, src).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CANCEL_ROWS 1024

struct neighbour {
    float s; /* squared distance */
    int32_t index;
};

/* Edges found so far, by ascending src. */
struct found {
    int64_t n_edges, capacity;
    int32_t *src; /* [capacity] */
    int32_t *dst; /* [capacity] */
};

/* radius * radius in float32, without raising overflow. */
static float squared(float radius)
{
    const double square = (double)radius * (double)radius;

    return radius > 1.8446743e19f ? INFINITY : (float)square;
}

/* The normative squared distance. It never shrinks as k grows, so beyond the
 * limit the rest does not matter. */
static float squared_distance(
    const float *a, const float *b, int32_t n_dim, float limit)
{
    float s = 0.0f;

    for (int32_t k = 0; k < n_dim && !(s > limit); k++) {
        const float d = a[k] - b[k];
        s = k == 0 ? d * d : fmaf(d, d, s);
    }
    return s;
}

static int by_distance_and_index(const void *a, const void *b)
{
    const struct neighbour *one = a;
    const struct neighbour *two = b;

    if (one->s != two->s)
        return one->s < two->s ? -1 : 1;
    return (one->index > two->index) - (one->index < two->index);
}

/* All neighbours of i, then the max_neighbours nearest of them. Returns their
 * number. */
static int64_t neighbours_of(struct neighbour *out,
    const struct etx_radius_graph_args *args, int32_t i, float limit)
{
    const int32_t n_dim = args->n_dim;
    const float *query = args->point + (int64_t)i * n_dim;
    int64_t count = 0;

    for (int32_t j = 0; j < (int32_t)args->n_points; j++) {
        const float *point = args->point + (int64_t)j * n_dim;
        const float s = squared_distance(query, point, n_dim, limit);
        if (j != i && s <= limit)
            out[count++] = (struct neighbour){s, j};
    }
    if (args->max_neighbours > 0 && count > args->max_neighbours) {
        qsort(out, (size_t)count, sizeof *out, by_distance_and_index);
        count = args->max_neighbours;
    }
    return count;
}

/* Whether the edge i -> j has the wanted orientation. */
static int32_t is_kept(
    const struct etx_radius_graph_args *args, int32_t i, int32_t j)
{
    if (args->key == NULL)
        return args->both || i < j;
    if (args->key[i] != args->key[j])
        return args->key[i] < args->key[j];
    return i < j;
}

static etx_status append(struct found *found,
    const struct etx_radius_graph_args *args, int32_t i, int32_t j)
{
    const int64_t capacity = found->capacity;
    const int64_t larger = capacity < 512 ? 1024 : 2 * capacity;
    etx_status status = ETX_OK;

    if (found->n_edges >= args->max_edges)
        return etx_fail(ETX_ERR_LIMIT,
            "radius_graph: more than max_edges = %" PRId64
            " edges among %" PRId64 " points within radius %.9g",
            args->max_edges, args->n_points, (double)args->radius);
    if (found->n_edges == capacity) {
        ETX_CHECK(etx_resize(&found->src, capacity, larger, sizeof *found->src,
            "sources of edges"));
        ETX_CHECK(etx_resize(&found->dst, capacity, larger, sizeof *found->dst,
            "targets of edges"));
        found->capacity = larger;
    }
    found->src[found->n_edges] = i;
    found->dst[found->n_edges] = j;
    found->n_edges++;
done:
    return status;
}

static etx_status find_all(struct found *found, struct etx_stream *stream,
    const struct etx_radius_graph_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const float limit = squared(args->radius);
    struct neighbour *neighbour = NULL;
    etx_status status;

    ETX_SCRATCH(
        neighbour, stream->arena, args->n_points, "neighbours of a point");
    for (int32_t i = 0; i < (int32_t)args->n_points; i++) {
        if (i % CANCEL_ROWS == 0)
            ETX_CHECK(etx_check_cancelled(stream));
        const int64_t count = neighbours_of(neighbour, args, i, limit);
        for (int64_t t = 0; t < count; t++)
            if (is_kept(args, i, neighbour[t].index))
                ETX_CHECK(append(found, args, i, neighbour[t].index));
    }
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

/* src, dst [n_edges] = the edges found, sorted by (dst, src). */
static etx_status sort_by_target(int32_t *src, int32_t *dst,
    struct etx_stream *stream, const struct found *found, int64_t n_points)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    int64_t *cursor = NULL;
    etx_status status;

    ETX_SCRATCH(cursor, stream->arena, n_points + 1, "edges of every target");
    memset(cursor, 0, (size_t)(n_points + 1) * sizeof *cursor);
    for (int64_t e = 0; e < found->n_edges; e++)
        cursor[found->dst[e] + 1]++;
    for (int64_t j = 0; j < n_points; j++)
        cursor[j + 1] += cursor[j];
    for (int64_t e = 0; e < found->n_edges; e++) {
        const int64_t at = cursor[found->dst[e]]++;
        src[at] = found->src[e];
        dst[at] = found->dst[e];
    }
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

etx_status etx_ref_radius_graph(
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    struct found found = {0};
    int32_t *src = NULL;
    int32_t *dst = NULL;
    etx_status status;

    ETX_CHECK(find_all(&found, stream, args));
    ETX_NEW(src, found.n_edges, "sources of edges");
    ETX_NEW(dst, found.n_edges, "targets of edges");
    ETX_CHECK(sort_by_target(src, dst, stream, &found, args->n_points));
    *args->out = (struct etx_edge_list){found.n_edges, src, dst};
    src = NULL;
    dst = NULL;
done:
    etx_free(src);
    etx_free(dst);
    etx_free(found.src);
    etx_free(found.dst);
    return status;
}
