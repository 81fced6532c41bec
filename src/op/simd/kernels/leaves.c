/* op/simd/kernels/leaves.c -- points sorted into leaves with boxes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/leaves.h"

#include "base/check.h"
#include "base/select.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct job {
    const struct etx_stream *stream;
    const struct etx_radius_graph_args *args;
    struct etx_leaves *leaves;
    float *axis;    /* [n_points, ETX_AXES] */
    int32_t *order; /* [n_points] */
};

static int64_t first_point(const struct job *job, int64_t leaf)
{
    const int64_t i = leaf * ETX_LEAF;

    return i < job->leaves->n_points ? i : job->leaves->n_points;
}

#define AHEAD 2 /* leaves whose rows are fetched early */

/* out [width, ETX_LEAF] = the rows [n, width] that order [n] names; lanes
 * beyond n hold the first. */
static void gather_leaf(float *out, const float *rows, const int32_t *order,
    int64_t n, int32_t width)
{
    for (int64_t lane = 0; lane < ETX_LEAF; lane++) {
        const float *row = rows + (int64_t)order[lane < n ? lane : 0] * width;
        for (int32_t k = 0; k < width; k++)
            out[k * ETX_LEAF + lane] = row[k];
    }
}

static int32_t smallest(const int32_t *index, int64_t n)
{
    int32_t first = index[0];

    for (int64_t i = 1; i < n; i++)
        first = index[i] < first ? index[i] : first;
    return first;
}

/* The box of a leaf, whose first n lanes are points. */
static void fill_box(struct etx_leaves *leaves, int64_t leaf, int64_t n)
{
    const float *axis = leaves->axis + leaf * ETX_AXES * ETX_LEAF;
    const int64_t box = leaf / ETX_LEAF * ETX_AXES * ETX_LEAF + leaf % ETX_LEAF;

    for (int32_t c = 0; c < ETX_AXES; c++) {
        float low = axis[c * ETX_LEAF];
        float high = low;
        for (int32_t lane = 1; lane < ETX_LEAF; lane++) {
            const float x = axis[c * ETX_LEAF + lane];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        leaves->level[0].low[box + c * ETX_LEAF] = low;
        leaves->level[0].high[box + c * ETX_LEAF] = high;
    }
    leaves->level[0].first[leaf] = smallest(leaves->id + leaf * ETX_LEAF, n);
}

/* Points, axes, ids, ranks and the box of one leaf. */
static void fill_leaf(const struct job *job, int64_t leaf)
{
    struct etx_leaves *leaves = job->leaves;
    const int32_t n_dim = leaves->n_dim;
    const float *key = job->args->key;
    const int64_t begin = first_point(job, leaf);
    const int64_t n = first_point(job, leaf + 1) - begin;
    const int32_t *order = job->order + begin;
    float *point = leaves->point + leaf * n_dim * ETX_LEAF;
    int32_t *id = leaves->id + leaf * ETX_LEAF;
    uint64_t *rank = leaves->rank + leaf * ETX_LEAF;

    if (leaf + AHEAD < leaves->n_leaves - 1)
        for (int32_t lane = 0; lane < ETX_LEAF; lane++) {
            const int64_t i = order[AHEAD * ETX_LEAF + lane];
            __builtin_prefetch(job->args->point + i * n_dim);
            __builtin_prefetch(job->axis + i * ETX_AXES);
        }
    if (n_dim == ETX_AXES) /* a constant, for the compiler */
        gather_leaf(point, job->args->point, order, n, ETX_AXES);
    else
        gather_leaf(point, job->args->point, order, n, n_dim);
    gather_leaf(leaves->axis + leaf * ETX_AXES * ETX_LEAF, job->axis, order, n,
        ETX_AXES);
    for (int64_t lane = 0; lane < n; lane++) {
        const int32_t i = order[lane];
        id[lane] = i;
        rank[lane] = key == NULL ? (uint64_t)i : etx_ordered_key(key[i], i);
    }
    for (int64_t lane = n; lane < ETX_LEAF; lane++) {
        id[lane] = -1;
        rank[lane] = UINT64_MAX;
        for (int32_t k = 0; k < n_dim; k++)
            point[k * ETX_LEAF + lane] = NAN;
    }
    fill_box(leaves, leaf, n);
}

#define BLOCK_LEAVES 256

static etx_status fill_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    etx_status status = ETX_OK;

    (void)worker;
    ETX_CHECK(etx_check_cancelled(job->stream));
    for (int64_t leaf = begin; leaf < end; leaf++)
        fill_leaf(job, leaf);
done:
    return status;
}

/* The box around each group of `below`. */
static void fill_level(struct etx_boxes *level, const struct etx_boxes *below)
{
    for (int64_t g = 0; g < level->n_boxes; g++) {
        const int64_t left = below->n_boxes - g * ETX_LEAF;
        const int64_t n = left < ETX_LEAF ? left : ETX_LEAF;
        for (int64_t c = 0; c < ETX_AXES; c++) {
            const int64_t from = (g * ETX_AXES + c) * ETX_LEAF;
            const int64_t to =
                (g / ETX_LEAF * ETX_AXES + c) * ETX_LEAF + g % ETX_LEAF;
            float low = below->low[from];
            float high = below->high[from];
            for (int64_t lane = 1; lane < n; lane++) {
                const float a = below->low[from + lane];
                const float b = below->high[from + lane];
                low = a < low ? a : low;
                high = b > high ? b : high;
            }
            level->low[to] = low;
            level->high[to] = high;
        }
        level->first[g] = smallest(below->first + g * ETX_LEAF, n);
    }
}

static etx_status alloc_level(
    struct etx_boxes *level, struct etx_stream *stream, int64_t n_boxes)
{
    const int64_t n_floats =
        (n_boxes + ETX_LEAF - 1) / ETX_LEAF * ETX_AXES * ETX_LEAF;
    etx_status status;

    level->n_boxes = n_boxes;
    ETX_SCRATCH(level->low, stream->arena, n_floats, "boxes of points");
    ETX_SCRATCH(level->high, stream->arena, n_floats, "boxes of points");
    ETX_SCRATCH(level->first, stream->arena, n_boxes, "boxes of points");
    memset(level->low, 0, (size_t)n_floats * sizeof *level->low);
    memset(level->high, 0, (size_t)n_floats * sizeof *level->high);
done:
    return status;
}

static etx_status alloc_leaves(
    struct etx_leaves *leaves, struct etx_stream *stream)
{
    const int64_t n_lanes = leaves->n_leaves * ETX_LEAF;
    int64_t n_boxes = leaves->n_leaves;
    etx_status status;

    ETX_SCRATCH(leaves->point, stream->arena, n_lanes * leaves->n_dim,
        "points in leaves");
    ETX_SCRATCH(
        leaves->axis, stream->arena, n_lanes * ETX_AXES, "points in leaves");
    ETX_SCRATCH(leaves->id, stream->arena, n_lanes, "points in leaves");
    ETX_SCRATCH(leaves->rank, stream->arena, n_lanes, "points in leaves");
    ETX_CHECK(alloc_level(&leaves->level[0], stream, n_boxes));
    leaves->n_levels = 1;
    while (n_boxes > ETX_LEAF) {
        n_boxes = (n_boxes + ETX_LEAF - 1) / ETX_LEAF;
        ETX_CHECK(
            alloc_level(&leaves->level[leaves->n_levels], stream, n_boxes));
        leaves->n_levels++;
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(leaves_build)(struct etx_leaves *out,
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    const int64_t n = args->n_points;
    struct job job = {.stream = stream, .args = args, .leaves = out};
    struct etx_axes axes;
    etx_status status;

    *out = (struct etx_leaves){.n_points = n,
        .n_leaves = (n + ETX_LEAF - 1) / ETX_LEAF,
        .n_dim = args->n_dim};
    ETX_CHECK(alloc_leaves(out, stream));
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    ETX_CHECK(ETX_ISA_NAME(axes_choose)(&axes, stream, args));
    out->relative = axes.relative;
    out->absolute = axes.absolute;
    ETX_SCRATCH(job.axis, stream->arena, n * ETX_AXES, "points in their axes");
    ETX_SCRATCH(job.order, stream->arena, n, "order of points");
    ETX_CHECK(ETX_ISA_NAME(axes_project)(job.axis, stream, &axes, args));
    ETX_CHECK(ETX_ISA_NAME(cut_points)(job.order, stream, job.axis, n));
    ETX_CHECK(etx_parallel_ranges(
        stream->pool, out->n_leaves, BLOCK_LEAVES, fill_block, &job));
    for (int32_t l = 1; l < out->n_levels; l++)
        fill_level(&out->level[l], &out->level[l - 1]);
    etx_arena_reset(stream->arena, mark);
done:
    return status;
}

float ETX_ISA_NAME(leaves_limit)(const struct etx_leaves *leaves, float bound)
{
    /* Squares below 1e-38 may have been lost to underflow. */
    const double distance =
        sqrt((double)bound + 1e-37) * (1.0 + leaves->relative) +
        leaves->absolute;
    const double limit = distance * distance * (1.0 + 1e-6);

    return limit < (double)FLT_MAX ? (float)limit : INFINITY;
}
