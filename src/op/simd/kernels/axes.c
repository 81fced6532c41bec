/* op/simd/kernels/axes.c -- the axes in which points are pruned.
 *
 * Principal components by cyclic Jacobi rotations of the covariance of a
 * sample: the leading ones have most of a distance between points.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/axes.h"

#include "base/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_PCA_DIM 32
#define SAMPLE      4096 /* points of the sample for the covariance, about */
#define BLOCK       4096 /* points of a block */

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

/* chosen [ETX_AXES] = the indices of the largest of value [n], -1 beyond n. */
static void largest(int32_t *chosen, const double *value, int32_t n)
{
    for (int32_t a = 0; a < ETX_AXES; a++) {
        chosen[a] = -1;
        for (int32_t k = 0; k < n; k++) {
            int32_t is_chosen = 0;
            for (int32_t b = 0; b < a; b++)
                is_chosen |= chosen[b] == k;
            if (!is_chosen && (chosen[a] < 0 || value[k] > value[chosen[a]]))
                chosen[a] = k;
        }
    }
}

/* basis = principal components; scratch a, v [n_dim, n_dim]. */
static void principal_axes(
    struct etx_axes *axes, double *a, double *v, int32_t n_dim)
{
    double value[MAX_PCA_DIM] = {0.0};
    int32_t chosen[ETX_AXES];

    diagonalise(a, v, n_dim);
    for (int32_t k = 0; k < n_dim; k++)
        value[k] = a[k * n_dim + k];
    largest(chosen, value, n_dim);
    for (int32_t k = 0; k < n_dim; k++)
        for (int32_t c = 0; c < ETX_AXES; c++)
            axes->basis[k * ETX_AXES + c] =
                chosen[c] < 0 ? 0.0 : v[k * n_dim + chosen[c]];
}

/* basis = the coordinates of largest variance, not shifted: exact. */
static void coordinate_axes(
    struct etx_axes *axes, const double *variance, int32_t n_dim)
{
    int32_t chosen[ETX_AXES];

    largest(chosen, variance, n_dim);
    memset(axes->mean, 0, (size_t)n_dim * sizeof *axes->mean);
    memset(axes->basis, 0, (size_t)n_dim * ETX_AXES * sizeof *axes->basis);
    for (int32_t c = 0; c < ETX_AXES; c++)
        if (chosen[c] >= 0)
            axes->basis[chosen[c] * ETX_AXES + c] = 1.0;
}

/* low, high [n_dim]: the extremes of all points. */
static void find_extremes(
    float *low, float *high, const struct etx_radius_graph_args *args)
{
    const int32_t n_dim = args->n_dim;

    memcpy(low, args->point, (size_t)n_dim * sizeof *low);
    memcpy(high, args->point, (size_t)n_dim * sizeof *high);
    for (int64_t i = 1; i < args->n_points; i++) {
        const float *x = args->point + i * n_dim;
        for (int32_t k = 0; k < n_dim; k++) {
            low[k] = x[k] < low[k] ? x[k] : low[k];
            high[k] = x[k] > high[k] ? x[k] : high[k];
        }
    }
}

/* The largest distance of all points from the mean along one coordinate;
 * low, high [n_dim] are scratch. */
static double find_extent(float *low, float *high, const double *mean,
    const struct etx_radius_graph_args *args)
{
    double max = 0.0;

    find_extremes(low, high, args);
    for (int32_t k = 0; k < args->n_dim; k++) {
        const double below = mean[k] - (double)low[k];
        const double above = (double)high[k] - mean[k];
        const double size = above > below ? above : below;
        max = size > max ? size : max;
    }
    return max;
}

/* The same on average over coordinates and a sample. */
static double find_average(
    const double *mean, const struct etx_radius_graph_args *args)
{
    const int64_t step = sample_step(args);
    const int64_t n = (args->n_points + step - 1) / step;
    double sum = 0.0;

    for (int64_t i = 0; i < args->n_points; i += step)
        for (int32_t k = 0; k < args->n_dim; k++)
            sum += fabs((double)args->point[i * args->n_dim + k] - mean[k]);
    return sum / ((double)n * args->n_dim);
}

static etx_status alloc_axes(
    struct etx_axes *axes, struct etx_stream *stream, int32_t n_dim)
{
    etx_status status;

    ETX_SCRATCH(axes->mean, stream->arena, n_dim, "mean of the points");
    ETX_SCRATCH(
        axes->basis, stream->arena, n_dim * ETX_AXES, "axes of the points");
    memset(axes->mean, 0, (size_t)n_dim * sizeof *axes->mean);
done:
    return status;
}

etx_status ETX_ISA_NAME(axes_choose)(struct etx_axes *out,
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    const int32_t n_dim = args->n_dim;
    const int64_t n_square = (int64_t)n_dim * n_dim;
    const int32_t may_rotate = n_dim > 1 && n_dim <= MAX_PCA_DIM;
    struct etx_arena_mark mark;
    double *variance = NULL, *covariance = NULL, *vectors = NULL;
    float *low = NULL;
    etx_status status;

    ETX_CHECK(alloc_axes(out, stream, n_dim));
    mark = etx_arena_mark(stream->arena);
    ETX_SCRATCH(low, stream->arena, 2 * n_dim, "extremes of points");
    ETX_SCRATCH(variance, stream->arena, n_dim, "variance of the points");
    memset(variance, 0, (size_t)n_dim * sizeof *variance);
    if (may_rotate) {
        ETX_SCRATCH(covariance, stream->arena, 2 * n_square,
            "covariance of the points");
        memset(covariance, 0, (size_t)n_square * sizeof *covariance);
        vectors = covariance + n_square;
    }
    measure(out->mean, variance, covariance, args);
    const double max = find_extent(low, low + n_dim, out->mean, args);
    const double average = find_average(out->mean, args);
    /* Rounding to float of a rotated coordinate, and of its double sum. */
    const double rounding = 2.0 * sqrt((double)ETX_AXES) * sqrt((double)n_dim) *
                            max * (1.1 * 0x1p-24 + n_dim * 1e-14);
    out->relative = (n_dim + 8) * 0x1p-23;
    out->absolute = 0.0;
    if (may_rotate && max < 1e15 && max < 1e3 * average &&
        rounding < 0.02 * (double)args->radius) {
        principal_axes(out, covariance, vectors, n_dim);
        out->absolute = rounding;
    } else {
        coordinate_axes(out, variance, n_dim);
    }
    etx_arena_reset(stream->arena, mark);
done:
    return status;
}

/* What the blocks of the projection share. */
struct projection {
    float *out;
    const struct etx_axes *axes;
    const struct etx_radius_graph_args *args;
};

static etx_status project_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct projection *job = argument;
    const struct etx_axes *axes = job->axes;
    const int32_t n_dim = job->args->n_dim;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        const float *x = job->args->point + i * n_dim;
        double sum[ETX_AXES] = {0.0};
        for (int32_t k = 0; k < n_dim; k++) {
            const double d = (double)x[k] - axes->mean[k];
            for (int32_t c = 0; c < ETX_AXES; c++)
                sum[c] += d * axes->basis[k * ETX_AXES + c];
        }
        for (int32_t c = 0; c < ETX_AXES; c++)
            job->out[i * ETX_AXES + c] = (float)sum[c];
    }
    return ETX_OK;
}

etx_status ETX_ISA_NAME(axes_project)(float *out, struct etx_stream *stream,
    const struct etx_axes *axes, const struct etx_radius_graph_args *args)
{
    struct projection job = {out, axes, args};

    return etx_parallel_ranges(
        stream->pool, args->n_points, BLOCK, project_block, &job);
}
