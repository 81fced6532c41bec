/* op/simd/kernels/cuts.c -- points in an order that makes leaves.
 *
 * Median cuts by quickselect over unique keys (coordinate, index), so that
 * equal points do no harm. Cuts fall on multiples of whole groups of leaves,
 * which keeps the boxes of the higher levels tight. Small nodes are cut in a
 * copy of their points that stays in cache.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/leaves.h"

#include "base/check.h"
#include "base/select.h"

#include <float.h>
#include <string.h>

#define MAX_NODES  128 /* that the threads share */
#define SMALL_NODE 512 /* leaves whose points fit into the cache */
#define SAMPLE     64  /* points that choose the axis of a cut, about */

/* Leaves begin .. end - 1. */
struct node {
    int64_t begin, end;
};

/* Points of a node that is being cut. */
struct points {
    int64_t n;
    const float *axis; /* [rows, ETX_AXES] */
    int32_t *order;    /* [n] rows of axis */
    uint64_t *key;     /* [n] scratch */
};

/* Scratch of a worker for the points of a small node. */
struct copy {
    float *axis;    /* [SMALL_NODE * ETX_LEAF, ETX_AXES] */
    int32_t *order; /* [SMALL_NODE * ETX_LEAF] */
    int32_t *id;    /* [SMALL_NODE * ETX_LEAF] */
};

struct job {
    const struct etx_stream *stream;
    int64_t n_points;
    const float *axis; /* [n_points, ETX_AXES] */
    int32_t *order;    /* [n_points] */
    uint64_t *key;     /* [n_points] scratch of the cuts */
    struct copy *copy; /* [workers] */
    struct node node[2 * MAX_NODES];
    int64_t n_nodes;
};

/* Where to cut n leaves, n > 1: near the middle, on a whole group. */
static int64_t half_of(int64_t n)
{
    int64_t group = 1;

    while (group * ETX_LEAF < n)
        group *= ETX_LEAF;
    const int64_t half = (n / 2 + group / 2) / group * group;
    return half == 0 ? group : half == n ? n - group : half;
}

static int64_t first_point(const struct job *job, int64_t leaf)
{
    const int64_t i = leaf * ETX_LEAF;

    return i < job->n_points ? i : job->n_points;
}

/* The axis along which points spread most, judged by some of them. */
static int32_t widest_axis(const struct points *points)
{
    const int64_t step = points->n <= SAMPLE ? 1 : points->n / SAMPLE;
    float low[ETX_AXES], high[ETX_AXES];
    int32_t widest = 0;

    for (int32_t c = 0; c < ETX_AXES; c++) {
        low[c] = FLT_MAX;
        high[c] = -FLT_MAX;
    }
    for (int64_t t = 0; t < points->n; t += step) {
        const float *x = points->axis + (int64_t)points->order[t] * ETX_AXES;
        for (int32_t c = 0; c < ETX_AXES; c++) {
            low[c] = x[c] < low[c] ? x[c] : low[c];
            high[c] = x[c] > high[c] ? x[c] : high[c];
        }
    }
    for (int32_t c = 1; c < ETX_AXES; c++)
        if ((double)high[c] - (double)low[c] >
            (double)high[widest] - (double)low[widest])
            widest = c;
    return widest;
}

/* Reorder points so that the first n_low lie below the others. */
static void cut(const struct points *points, int64_t n_low)
{
    const float *axis = points->axis + widest_axis(points);

    for (int64_t t = 0; t < points->n; t++) {
        const int32_t i = points->order[t];
        points->key[t] = etx_ordered_key(axis[(int64_t)i * ETX_AXES], i);
    }
    etx_select(points->key, points->n, n_low);
    for (int64_t t = 0; t < points->n; t++)
        points->order[t] = (int32_t)(uint32_t)points->key[t];
}

/* The points of a node, in place. */
static struct points points_of(const struct job *job, struct node node)
{
    const int64_t begin = first_point(job, node.begin);

    return (struct points){first_point(job, node.end) - begin, job->axis,
        job->order + begin, job->key + begin};
}

/* Cut n_leaves leaves of points, all of ETX_LEAF points but the last. */
static void cut_to_leaves(struct points points, int64_t n_leaves)
{
    while (n_leaves > 1) {
        const int64_t half = half_of(n_leaves);
        const int64_t n_low = half * ETX_LEAF;
        cut(&points, n_low);
        cut_to_leaves(
            (struct points){n_low, points.axis, points.order, points.key},
            half);
        points.n -= n_low;
        points.order += n_low;
        points.key += n_low;
        n_leaves -= half;
    }
}

/* The same in a copy of the points. */
static void cut_small(struct points points, int64_t n_leaves, struct copy *copy)
{
    for (int64_t t = 0; t < points.n; t++) {
        memcpy(copy->axis + t * ETX_AXES,
            points.axis + (int64_t)points.order[t] * ETX_AXES,
            ETX_AXES * sizeof *copy->axis);
        copy->id[t] = points.order[t];
        copy->order[t] = (int32_t)t;
    }
    cut_to_leaves(
        (struct points){points.n, copy->axis, copy->order, points.key},
        n_leaves);
    for (int64_t t = 0; t < points.n; t++)
        points.order[t] = copy->id[copy->order[t]];
}

static void cut_subtree(struct job *job, struct node node, struct copy *copy)
{
    while (node.end - node.begin > SMALL_NODE) {
        const int64_t half = half_of(node.end - node.begin);
        const struct points points = points_of(job, node);
        cut(&points, half * ETX_LEAF);
        cut_subtree(job, (struct node){node.begin, node.begin + half}, copy);
        node.begin += half;
    }
    cut_small(points_of(job, node), node.end - node.begin, copy);
}

static etx_status cut_node(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;
    const struct node node = job->node[block];
    int64_t middle = node.end;
    etx_status status = ETX_OK;

    (void)worker;
    ETX_CHECK(etx_check_cancelled(job->stream));
    if (node.end - node.begin > 1) {
        const int64_t half = half_of(node.end - node.begin);
        const struct points points = points_of(job, node);
        cut(&points, half * ETX_LEAF);
        middle = node.begin + half;
    }
    job->node[block].end = middle;
    job->node[job->n_nodes + block] = (struct node){middle, node.end};
done:
    return status;
}

static etx_status finish_node(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_cancelled(job->stream));
    cut_subtree(job, job->node[block], &job->copy[worker]);
done:
    return status;
}

static etx_status alloc_copies(struct job *job, struct etx_stream *stream)
{
    const int32_t n_workers = etx_pool_n_threads(stream->pool);
    const int64_t n = SMALL_NODE * ETX_LEAF;
    etx_status status;

    ETX_SCRATCH(job->copy, stream->arena, n_workers, "points of a node");
    for (int32_t w = 0; w < n_workers; w++) {
        struct copy *copy = &job->copy[w];
        ETX_SCRATCH(
            copy->axis, stream->arena, n * ETX_AXES, "points of a node");
        ETX_SCRATCH(copy->order, stream->arena, n, "points of a node");
        ETX_SCRATCH(copy->id, stream->arena, n, "points of a node");
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(cut_points)(int32_t *order, struct etx_stream *stream,
    const float *axis, int64_t n_points)
{
    const int64_t n_leaves = (n_points + ETX_LEAF - 1) / ETX_LEAF;
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct job job = {
        .stream = stream, .n_points = n_points, .axis = axis, .order = order};
    etx_status status;

    ETX_CHECK(alloc_copies(&job, stream));
    ETX_SCRATCH(job.key, stream->arena, n_points, "keys of a cut");
    for (int64_t i = 0; i < n_points; i++)
        order[i] = (int32_t)i;
    job.node[0] = (struct node){0, n_leaves};
    job.n_nodes = 1;
    while (job.n_nodes < MAX_NODES && n_leaves / job.n_nodes > SMALL_NODE) {
        ETX_CHECK(etx_parallel_for(stream->pool, job.n_nodes, cut_node, &job));
        job.n_nodes *= 2;
    }
    ETX_CHECK(etx_parallel_for(stream->pool, job.n_nodes, finish_node, &job));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
