/* op/x86/simd/leaves.c -- points sorted into leaves with boxes.
 *
 * Principal components by cyclic Jacobi rotations of the covariance of a
 * sample; median cuts by quickselect over unique keys (coordinate, index), so
 * that equal points do no harm. Cuts fall on multiples of whole groups of
 * leaves, which keeps the boxes of the higher levels tight.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/leaves.h"

#include "base/check.h"
#include "op/x86/select.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MOST_PCA_DIM 32
#define SAMPLE       16384 /* points that the covariance looks at, about */
#define BLOCK        4096  /* points of a block of work */
#define SMALL_NODE   2048  /* points below which one thread does a subtree */
#define MOST_NODES   128

/* Leaves begin .. end - 1. */
struct node {
    int64_t begin, end;
};

struct job {
    const struct etx_radius_graph_args *args;
    struct etx_leaves *leaves;
    double *mean;    /* [n_dim] */
    double *basis;   /* [n_dim, ETX_AXES] columns orthonormal or zero */
    float *axis;     /* [n_points, ETX_AXES] */
    int32_t *order;  /* [n_points] */
    uint64_t *place; /* [n_points] scratch of the cuts */
    struct node node[2 * MOST_NODES];
    int64_t n_nodes;
};

/* ---------------------------------------------------------------- axes -- */

static int64_t sample_step(const struct etx_radius_graph_args *args)
{
    return args->n_points <= SAMPLE ? 1 : args->n_points / SAMPLE;
}

/* mean [n_dim] and, unless NULL, covariance [n_dim, n_dim] of a sample. */
static void measure(double *mean, double *variance, double *covariance,
    const struct etx_radius_graph_args *args)
{
    const int32_t n_dim = args->n_dim;
    const int64_t step = sample_step(args);
    const int64_t n = (args->n_points + step - 1) / step;

    for (int64_t i = 0; i < args->n_points; i += step)
        for (int32_t k = 0; k < n_dim; k++)
            mean[k] += (double)args->point[i * n_dim + k] / (double)n;
    for (int64_t i = 0; i < args->n_points; i += step) {
        const float *x = args->point + i * n_dim;
        for (int32_t k = 0; k < n_dim; k++) {
            const double d = (double)x[k] - mean[k];
            variance[k] += d * d;
            for (int32_t j = 0; covariance != NULL && j <= k; j++)
                covariance[k * n_dim + j] += d * ((double)x[j] - mean[j]);
        }
    }
    for (int32_t k = 0; covariance != NULL && k < n_dim; k++)
        for (int32_t j = k + 1; j < n_dim; j++)
            covariance[k * n_dim + j] = covariance[j * n_dim + k];
}

/* Rotate rows and columns p and q of a, and columns p and q of v, so that
 * a[p][q] becomes 0 (Golub and Van Loan, Matrix Computations, 8.5). */
static void rotate(double *a, double *v, int32_t n, int32_t p, int32_t q)
{
    const double off = a[p * n + q];
    const double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
    const double t =
        (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    const double c = 1.0 / sqrt(t * t + 1.0);
    const double s = t * c;

    for (int32_t k = 0; k < n; k++) {
        const double x = a[k * n + p];
        const double y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int32_t k = 0; k < n; k++) {
        const double x = a[p * n + k];
        const double y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    for (int32_t k = 0; k < n; k++) {
        const double x = v[k * n + p];
        const double y = v[k * n + q];
        v[k * n + p] = c * x - s * y;
        v[k * n + q] = s * x + c * y;
    }
}

/* Columns of v: eigenvectors of the symmetric a; its diagonal: eigenvalues. */
static void diagonalise(double *a, double *v, int32_t n)
{
    double scale = 0.0;

    for (int32_t k = 0; k < n; k++) {
        scale += fabs(a[k * n + k]);
        for (int32_t j = 0; j < n; j++)
            v[k * n + j] = k == j ? 1.0 : 0.0;
    }
    for (int32_t sweep = 0; sweep < 12; sweep++)
        for (int32_t p = 0; p < n; p++)
            for (int32_t q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-12 * scale)
                    rotate(a, v, n, p, q);
}

/* chosen [ETX_AXES] = the places of the largest of value [n], -1 beyond n. */
static void largest(int32_t *chosen, const double *value, int32_t n)
{
    for (int32_t a = 0; a < ETX_AXES; a++) {
        chosen[a] = -1;
        for (int32_t k = 0; k < n; k++) {
            int32_t is_taken = 0;
            for (int32_t b = 0; b < a; b++)
                is_taken |= chosen[b] == k;
            if (!is_taken && (chosen[a] < 0 || value[k] > value[chosen[a]]))
                chosen[a] = k;
        }
    }
}

/* basis = principal components; scratch a, v [n_dim, n_dim]. */
static void principal_axes(struct job *job, double *a, double *v)
{
    const int32_t n = job->leaves->n_dim;
    double value[MOST_PCA_DIM];
    int32_t chosen[ETX_AXES];

    diagonalise(a, v, n);
    for (int32_t k = 0; k < n; k++)
        value[k] = a[k * n + k];
    largest(chosen, value, n);
    for (int32_t k = 0; k < n; k++)
        for (int32_t c = 0; c < ETX_AXES; c++)
            job->basis[k * ETX_AXES + c] =
                chosen[c] < 0 ? 0.0 : v[k * n + chosen[c]];
}

/* basis = the coordinates of largest variance, not shifted: exact. */
static void coordinate_axes(struct job *job, const double *variance)
{
    const int32_t n = job->leaves->n_dim;
    int32_t chosen[ETX_AXES];

    largest(chosen, variance, n);
    memset(job->mean, 0, (size_t)n * sizeof *job->mean);
    memset(job->basis, 0, (size_t)n * ETX_AXES * sizeof *job->basis);
    for (int32_t c = 0; c < ETX_AXES; c++)
        if (chosen[c] >= 0)
            job->basis[chosen[c] * ETX_AXES + c] = 1.0;
}

static etx_status project_block(void *argument, int64_t block, int32_t worker)
{
    const struct job *job = argument;
    const int32_t n_dim = job->leaves->n_dim;
    const int64_t begin = block * BLOCK;
    const int64_t left = job->leaves->n_points - begin;
    const int64_t end = begin + (left < BLOCK ? left : BLOCK);

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const float *x = job->args->point + i * n_dim;
        double sum[ETX_AXES] = {0.0};
        for (int32_t k = 0; k < n_dim; k++) {
            const double d = (double)x[k] - job->mean[k];
            for (int32_t c = 0; c < ETX_AXES; c++)
                sum[c] += d * job->basis[k * ETX_AXES + c];
        }
        for (int32_t c = 0; c < ETX_AXES; c++)
            job->axis[i * ETX_AXES + c] = (float)sum[c];
    }
    return ETX_OK;
}

/* The largest distance along one coordinate from the mean, and the average. */
static void extent(double *most, double *average, const struct job *job)
{
    const int32_t n_dim = job->leaves->n_dim;
    const int64_t n_values = job->leaves->n_points * n_dim;
    double sum = 0.0;

    *most = 0.0;
    for (int64_t t = 0; t < n_values; t += n_dim)
        for (int32_t k = 0; k < n_dim; k++) {
            const double d =
                fabs((double)job->args->point[t + k] - job->mean[k]);
            *most = d > *most ? d : *most;
            sum += d;
        }
    *average = sum / (double)n_values;
}

/* Choose the axes and their errors. */
static etx_status choose_axes(struct job *job, struct etx_stream *stream)
{
    const int32_t n_dim = job->leaves->n_dim;
    const int64_t n_square = (int64_t)n_dim * n_dim;
    const int32_t may_rotate = n_dim > 1 && n_dim <= MOST_PCA_DIM;
    double *variance = NULL, *covariance = NULL, *vectors = NULL;
    double most = 0.0, average = 0.0;
    etx_status status;

    ETX_CHECK(etx_arena_take(&job->mean, stream->arena, n_dim,
        sizeof *job->mean, "mean of the points"));
    ETX_CHECK(etx_arena_take(&variance, stream->arena, n_dim, sizeof *variance,
        "variance of the points"));
    ETX_CHECK(etx_arena_take(&job->basis, stream->arena, n_dim * ETX_AXES,
        sizeof *job->basis, "axes of the points"));
    memset(job->mean, 0, (size_t)n_dim * sizeof *job->mean);
    memset(variance, 0, (size_t)n_dim * sizeof *variance);
    if (may_rotate) {
        ETX_CHECK(etx_arena_take(&covariance, stream->arena, 2 * n_square,
            sizeof *covariance, "covariance of the points"));
        memset(covariance, 0, (size_t)n_square * sizeof *covariance);
        vectors = covariance + n_square;
    }
    measure(job->mean, variance, covariance, job->args);
    extent(&most, &average, job);
    /* Rounding to float of a rotated coordinate, and of its double sum. */
    const double rounding = 2.0 * sqrt((double)ETX_AXES) * sqrt((double)n_dim) *
                            most * (1.1 * 0x1p-24 + n_dim * 1e-14);
    job->leaves->relative = (n_dim + 8) * 0x1p-23;
    job->leaves->absolute = 0.0;
    if (may_rotate && most < 1e15 && most < 1e3 * average &&
        rounding < 0.02 * (double)job->args->radius) {
        principal_axes(job, covariance, vectors);
        job->leaves->absolute = rounding;
    } else {
        coordinate_axes(job, variance);
    }
done:
    return status;
}

/* ---------------------------------------------------------------- cuts -- */

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

    return i < job->leaves->n_points ? i : job->leaves->n_points;
}

/* The axis along which the points of a node spread most. */
static int32_t widest_axis(const struct job *job, int64_t begin, int64_t end)
{
    float low[ETX_AXES], high[ETX_AXES];
    int32_t widest = 0;

    for (int32_t c = 0; c < ETX_AXES; c++) {
        low[c] = FLT_MAX;
        high[c] = -FLT_MAX;
    }
    for (int64_t t = begin; t < end; t++) {
        const float *x = job->axis + (int64_t)job->order[t] * ETX_AXES;
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

/* Reorder a node so that the points of leaves before the returned one lie
 * below the others. */
static int64_t cut(struct job *job, struct node node)
{
    const int64_t begin = first_point(job, node.begin);
    const int64_t end = first_point(job, node.end);
    const int64_t middle = node.begin + half_of(node.end - node.begin);
    const int32_t axis = widest_axis(job, begin, end);

    for (int64_t t = begin; t < end; t++) {
        const int32_t i = job->order[t];
        job->place[t] =
            etx_ordered_key(job->axis[(int64_t)i * ETX_AXES + axis], i);
    }
    etx_select(
        job->place + begin, end - begin, first_point(job, middle) - begin);
    for (int64_t t = begin; t < end; t++)
        job->order[t] = (int32_t)(uint32_t)job->place[t];
    return middle;
}

static void cut_to_leaves(struct job *job, struct node node)
{
    while (node.end - node.begin > 1) {
        const int64_t middle = cut(job, node);
        cut_to_leaves(job, (struct node){node.begin, middle});
        node.begin = middle;
    }
}

static etx_status cut_node(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;
    const struct node node = job->node[block];
    const int64_t middle =
        node.end - node.begin > 1 ? cut(job, node) : node.end;

    (void)worker;
    job->node[block].end = middle;
    job->node[job->n_nodes + block] = (struct node){middle, node.end};
    return ETX_OK;
}

static etx_status cut_subtree(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;

    (void)worker;
    cut_to_leaves(job, job->node[block]);
    return ETX_OK;
}

static etx_status sort_points(struct job *job, struct etx_stream *stream)
{
    etx_status status;

    for (int64_t i = 0; i < job->leaves->n_points; i++)
        job->order[i] = (int32_t)i;
    job->node[0] = (struct node){0, job->leaves->n_leaves};
    job->n_nodes = 1;
    while (job->n_nodes < MOST_NODES &&
           job->leaves->n_points / job->n_nodes > SMALL_NODE) {
        ETX_CHECK(etx_parallel_for(stream->pool, job->n_nodes, cut_node, job));
        job->n_nodes *= 2;
    }
    ETX_CHECK(etx_parallel_for(stream->pool, job->n_nodes, cut_subtree, job));
done:
    return status;
}

/* -------------------------------------------------------------- leaves -- */

/* Points, axes, ids, keys and the box of one leaf. */
static void fill_leaf(const struct job *job, int64_t leaf)
{
    struct etx_leaves *leaves = job->leaves;
    const int32_t n_dim = leaves->n_dim;
    const int64_t begin = first_point(job, leaf);
    const int64_t end = first_point(job, leaf + 1);
    float *point = leaves->point + leaf * n_dim * ETX_LEAF;
    float *axis = leaves->axis + leaf * ETX_AXES * ETX_LEAF;
    const int64_t box = leaf / ETX_LEAF * ETX_AXES * ETX_LEAF + leaf % ETX_LEAF;

    for (int64_t lane = 0; lane < ETX_LEAF; lane++) {
        const int64_t at = leaf * ETX_LEAF + lane;
        const int32_t is_real = begin + lane < end;
        const int64_t i = job->order[is_real ? begin + lane : begin];
        for (int32_t k = 0; k < n_dim; k++)
            point[k * ETX_LEAF + lane] =
                is_real ? job->args->point[i * n_dim + k] : NAN;
        for (int32_t c = 0; c < ETX_AXES; c++)
            axis[c * ETX_LEAF + lane] = job->axis[i * ETX_AXES + c];
        leaves->id[at] = is_real ? (int32_t)i : -1;
        if (leaves->key != NULL)
            leaves->key[at] = job->args->key[i];
    }
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
}

#define BLOCK_LEAVES 256

static etx_status fill_block(void *argument, int64_t block, int32_t worker)
{
    const struct job *job = argument;
    const int64_t begin = block * BLOCK_LEAVES;
    const int64_t left = job->leaves->n_leaves - begin;
    const int64_t n = left < BLOCK_LEAVES ? left : BLOCK_LEAVES;

    (void)worker;
    for (int64_t leaf = begin; leaf < begin + n; leaf++)
        fill_leaf(job, leaf);
    return ETX_OK;
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
    }
}

static etx_status take_level(
    struct etx_boxes *level, struct etx_stream *stream, int64_t n_boxes)
{
    const int64_t n_floats =
        (n_boxes + ETX_LEAF - 1) / ETX_LEAF * ETX_AXES * ETX_LEAF;
    etx_status status;

    level->n_boxes = n_boxes;
    ETX_CHECK(etx_arena_take(&level->low, stream->arena, n_floats,
        sizeof *level->low, "boxes of points"));
    ETX_CHECK(etx_arena_take(&level->high, stream->arena, n_floats,
        sizeof *level->high, "boxes of points"));
    memset(level->low, 0, (size_t)n_floats * sizeof *level->low);
    memset(level->high, 0, (size_t)n_floats * sizeof *level->high);
done:
    return status;
}

static etx_status take_leaves(
    struct etx_leaves *leaves, struct etx_stream *stream, int32_t with_key)
{
    const int64_t n_lanes = leaves->n_leaves * ETX_LEAF;
    int64_t n_boxes = leaves->n_leaves;
    etx_status status;

    ETX_CHECK(etx_arena_take(&leaves->point, stream->arena,
        n_lanes * leaves->n_dim, sizeof *leaves->point, "points in leaves"));
    ETX_CHECK(etx_arena_take(&leaves->axis, stream->arena, n_lanes * ETX_AXES,
        sizeof *leaves->axis, "points in leaves"));
    ETX_CHECK(etx_arena_take(&leaves->id, stream->arena, n_lanes,
        sizeof *leaves->id, "points in leaves"));
    if (with_key)
        ETX_CHECK(etx_arena_take(&leaves->key, stream->arena, n_lanes,
            sizeof *leaves->key, "keys in leaves"));
    ETX_CHECK(take_level(&leaves->level[0], stream, n_boxes));
    leaves->n_levels = 1;
    while (n_boxes > ETX_LEAF) {
        n_boxes = (n_boxes + ETX_LEAF - 1) / ETX_LEAF;
        ETX_CHECK(
            take_level(&leaves->level[leaves->n_levels], stream, n_boxes));
        leaves->n_levels++;
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(leaves_build)(struct etx_leaves *out,
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    const int64_t n = args->n_points;
    struct job job = {.args = args, .leaves = out};
    etx_status status;

    *out = (struct etx_leaves){.n_points = n,
        .n_leaves = (n + ETX_LEAF - 1) / ETX_LEAF,
        .n_dim = args->n_dim};
    ETX_CHECK(take_leaves(out, stream, args->key != NULL));
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    ETX_CHECK(choose_axes(&job, stream));
    ETX_CHECK(etx_arena_take(&job.axis, stream->arena, n * ETX_AXES,
        sizeof *job.axis, "points in their axes"));
    ETX_CHECK(etx_arena_take(
        &job.order, stream->arena, n, sizeof *job.order, "order of points"));
    ETX_CHECK(etx_arena_take(
        &job.place, stream->arena, n, sizeof *job.place, "keys of a cut"));
    ETX_CHECK(etx_parallel_for(
        stream->pool, (n + BLOCK - 1) / BLOCK, project_block, &job));
    ETX_CHECK(sort_points(&job, stream));
    ETX_CHECK(etx_parallel_for(stream->pool,
        (out->n_leaves + BLOCK_LEAVES - 1) / BLOCK_LEAVES, fill_block, &job));
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
