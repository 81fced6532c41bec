/* cuda/op/norm.cu -- layer, batch and L2 norm, and their gradients.
 *
 * A row is normalised by a warp. Batch norm takes the sums of columns first.
 * The formulas are in op/ref/norm.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/layers.h"
#include "cuda/op/operators.h"
#include "cuda/op/row_math.cuh"

__global__ static void norm_rows_kernel(struct etx_norm_args args)
{
    for (int64_t i = etx_first_warp_item(); i < args.n_rows;
         i += etx_warp_item_step())
        etx_normalise_row(args.y + i * args.width, args.x + i * args.width,
            args.width, args.norm, args.eps, args.gain, args.shift);
}

/* (x - mean)^2 with the sum of the column. */
struct square_term {
    const float *x;
    const double *sum;
    int64_t n_rows;
    int32_t width;

    __device__ double operator()(int64_t i, int32_t k) const
    {
        const double d = (double)x[i * width + k] - sum[k] / (double)n_rows;

        return d * d;
    }
};

/* Sums of the columns to mean and 1 / sqrt(variance + eps). */
__global__ static void statistics_kernel(
    double *mean, double *inverse, int64_t n_rows, int32_t width, float eps)
{
    for (int64_t k = etx_first_item(); k < width; k += etx_item_step()) {
        const double variance = inverse[k] / (double)n_rows + (double)eps;

        mean[k] /= (double)n_rows;
        inverse[k] = variance > 0.0 ? 1.0 / sqrt(variance) : 0.0;
    }
}

/* mean, inverse [width] of every column. */
static etx_status column_statistics(struct etx_stream *stream, double *mean,
    double *inverse, const struct etx_norm_args *args)
{
    ETX_TRY(etx_column_sums(stream, mean, args->n_rows, args->width,
        etx_plain_term{args->x, args->width}));
    ETX_TRY(etx_column_sums(stream, inverse, args->n_rows, args->width,
        square_term{args->x, mean, args->n_rows, args->width}));
    return etx_launch(stream, args->width, statistics_kernel, mean, inverse,
        args->n_rows, args->width, args->eps);
}

__global__ static void norm_columns_kernel(
    struct etx_norm_args args, const double *mean, const double *inverse)
{
    for (int64_t t = etx_first_item(); t < args.n_rows * args.width;
         t += etx_item_step()) {
        const int32_t k = (int32_t)(t % args.width);
        double y = ((double)args.x[t] - mean[k]) * inverse[k];

        if (args.gain != NULL)
            y *= (double)args.gain[k];
        if (args.shift != NULL)
            y += (double)args.shift[k];
        args.y[t] = (float)y;
    }
}

static etx_status norm_columns(
    struct etx_stream *stream, const struct etx_norm_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    double *mean = NULL;
    double *inverse = NULL;

    ETX_TRY(scratch.alloc_all(
        args->width, "statistics of columns", &mean, &inverse));
    ETX_TRY(column_statistics(stream, mean, inverse, args));
    return etx_launch(stream, args->n_rows * args->width, norm_columns_kernel,
        *args, (const double *)mean, (const double *)inverse);
}

static etx_status copy(
    struct etx_stream *stream, float *y, const float *x, int64_t n)
{
    const struct etx_activation_args args = {
        n, ETX_ACTIVATION_NONE, x, y, NULL};

    return etx_cuda_activation(stream, &args);
}

etx_status etx_cuda_norm(
    struct etx_stream *stream, const struct etx_norm_args *args)
{
    if (args->n_rows == 0 || args->width == 0)
        return ETX_OK;
    if (args->norm == ETX_NORM_NONE)
        return copy(stream, args->y, args->x, args->n_rows * args->width);
    if (args->norm == ETX_NORM_BATCH)
        return norm_columns(stream, args);
    return etx_launch_warps(stream, args->n_rows, norm_rows_kernel, *args);
}

/* ------------------------------------------------------------ backward -- */

/* What the gradients of gain (and of x) sum: d_y x^. With gain, g x^. */
struct gain_term {
    const float *x, *d_y, *gain; /* gain: NULL for ones */
    const double *mean, *inverse;
    int32_t width, by_column; /* statistics of columns, else of rows */

    __device__ double operator()(int64_t i, int32_t k) const
    {
        const int64_t t = i * width + k;
        const int64_t s = by_column ? k : i;
        const double g = (double)d_y[t] * (gain ? (double)gain[k] : 1.0);

        return g * (((double)x[t] - mean[s]) * inverse[s]);
    }
};

struct shift_term {
    const float *d_y, *gain;
    int32_t width;

    __device__ double operator()(int64_t i, int32_t k) const
    {
        return (double)d_y[i * width + k] * (gain ? (double)gain[k] : 1.0);
    }
};

/* mean, inverse [n_rows] of every row, in float64. */
__global__ static void row_statistics_kernel(
    double *mean, double *inverse, struct etx_norm_args args)
{
    for (int64_t i = etx_first_warp_item(); i < args.n_rows;
         i += etx_warp_item_step()) {
        const float *x = args.x + i * args.width;
        double sum = 0.0;
        double squares = 0.0;

        for (int32_t k = etx_lane(); k < args.width; k += ETX_CUDA_WARP)
            sum += (double)x[k];
        const double middle = etx_warp_sum(sum) / (double)args.width;
        for (int32_t k = etx_lane(); k < args.width; k += ETX_CUDA_WARP)
            squares += ((double)x[k] - middle) * ((double)x[k] - middle);
        const double variance =
            etx_warp_sum(squares) / (double)args.width + (double)args.eps;

        if (etx_lane() == 0) {
            mean[i] = middle;
            inverse[i] = variance > 0.0 ? 1.0 / sqrt(variance) : 0.0;
        }
    }
}

/* d_x of a row from its terms; a warp a row. */
__global__ static void row_backward_kernel(
    float *d_x, struct gain_term along, struct shift_term plain, int64_t n_rows)
{
    const int32_t width = along.width;

    for (int64_t i = etx_first_warp_item(); i < n_rows;
         i += etx_warp_item_step()) {
        double g = 0.0;
        double gx = 0.0;

        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP) {
            g += plain(i, k);
            gx += along(i, k);
        }
        g = etx_warp_sum(g) / (double)width;
        gx = etx_warp_sum(gx) / (double)width;
        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP) {
            const double x = ((double)along.x[i * width + k] - along.mean[i]) *
                             along.inverse[i];

            d_x[i * width + k] =
                (float)((plain(i, k) - g - x * gx) * along.inverse[i]);
        }
    }
}

/* The same by columns, with the sums of g and g x^ over the rows. */
__global__ static void column_backward_kernel(float *d_x,
    struct gain_term along, struct shift_term plain, const double *g,
    const double *gx, int64_t n_rows)
{
    const int32_t width = along.width;

    for (int64_t t = etx_first_item(); t < n_rows * width;
         t += etx_item_step()) {
        const int64_t i = t / width;
        const int32_t k = (int32_t)(t % width);
        const double n = (double)n_rows;
        const double x =
            ((double)along.x[t] - along.mean[k]) * along.inverse[k];

        d_x[t] = (float)((plain(i, k) - g[k] / n - x * (gx[k] / n)) *
                         along.inverse[k]);
    }
}

/* d_gain and d_shift, before d_x may overwrite d_y. */
static etx_status add_affine(struct etx_stream *stream,
    const struct etx_norm_backward_args *args, struct gain_term along)
{
    const struct etx_norm_args *forward = &args->forward;

    along.gain = NULL;
    if (args->d_gain != NULL)
        ETX_TRY(etx_add_column_sums(
            stream, args->d_gain, forward->n_rows, forward->width, along));
    if (args->d_shift == NULL)
        return ETX_OK;
    return etx_add_column_sums(stream, args->d_shift, forward->n_rows,
        forward->width, shift_term{args->d_y, NULL, forward->width});
}

/* Batch norm: the formula of op/ref/norm.c with means over rows. */
static etx_status columns_backward(struct etx_stream *stream,
    const struct etx_norm_backward_args *args, struct gain_term along)
{
    struct etx_cuda_scratch scratch(stream);
    const struct etx_norm_args *forward = &args->forward;
    const struct shift_term plain = {args->d_y, forward->gain, forward->width};
    double *g = NULL;
    double *gx = NULL;

    ETX_TRY(scratch.alloc_all(forward->width, "sums of gradients", &g, &gx));
    ETX_TRY(etx_column_sums(stream, g, forward->n_rows, forward->width, plain));
    ETX_TRY(
        etx_column_sums(stream, gx, forward->n_rows, forward->width, along));
    return etx_launch(stream, forward->n_rows * forward->width,
        column_backward_kernel, args->d_x, along, plain, (const double *)g,
        (const double *)gx, forward->n_rows);
}

static etx_status affine_backward(
    struct etx_stream *stream, const struct etx_norm_backward_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const struct etx_norm_args *forward = &args->forward;
    const int32_t by_column = forward->norm == ETX_NORM_BATCH;
    const int64_t n = by_column ? forward->width : forward->n_rows;
    double *mean = NULL;
    double *inverse = NULL;

    ETX_TRY(scratch.alloc_all(n, "statistics of a norm", &mean, &inverse));
    const struct gain_term along = {forward->x, args->d_y, forward->gain, mean,
        inverse, forward->width, by_column};

    if (by_column) {
        ETX_TRY(column_statistics(stream, mean, inverse, forward));
        ETX_TRY(add_affine(stream, args, along));
        return columns_backward(stream, args, along);
    }
    ETX_TRY(etx_launch_warps(stream, forward->n_rows, row_statistics_kernel,
        mean, inverse, *forward));
    ETX_TRY(add_affine(stream, args, along));
    return etx_launch_warps(stream, forward->n_rows, row_backward_kernel,
        args->d_x, along, shift_term{args->d_y, forward->gain, forward->width},
        forward->n_rows);
}

/* Gradient of x / max(|x|, eps): without the part along y unless eps won. */
__global__ static void length_backward_kernel(
    struct etx_norm_backward_args args)
{
    const int32_t width = args.forward.width;

    for (int64_t i = etx_first_warp_item(); i < args.forward.n_rows;
         i += etx_warp_item_step()) {
        const float *x = args.forward.x + i * width;
        const float *d_y = args.d_y + i * width;
        const double inverse = etx_inverse_length(x, width, args.forward.eps);
        const int32_t is_clamped =
            inverse == 0.0 || inverse >= 1.0 / (double)args.forward.eps;
        double along = 0.0;

        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            along += (double)d_y[k] * ((double)x[k] * inverse);
        along = is_clamped ? 0.0 : etx_warp_sum(along);
        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            args.d_x[i * width + k] =
                (float)(((double)d_y[k] - (double)x[k] * inverse * along) *
                        inverse);
    }
}

etx_status etx_cuda_norm_backward(
    struct etx_stream *stream, const struct etx_norm_backward_args *args)
{
    const struct etx_norm_args *forward = &args->forward;

    if (forward->n_rows == 0 || forward->width == 0)
        return ETX_OK;
    if (forward->norm == ETX_NORM_NONE)
        return copy(
            stream, args->d_x, args->d_y, forward->n_rows * forward->width);
    if (forward->norm != ETX_NORM_L2)
        return affine_backward(stream, args);
    return etx_launch_warps(
        stream, forward->n_rows, length_backward_kernel, *args);
}
