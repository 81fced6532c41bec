/* op/ref/norm.c -- layer, batch and L2 norm, and their gradients.
 *
 * Layer and batch norm are the same arithmetic over different lines of the
 * matrix: a row, or the rows of a channel. With x^ = (x - mean) / sigma and
 * g = d_y * gain, d_x = (g - mean(g) - x^ mean(g x^)) / sigma.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"

#include <math.h>
#include <string.h>

/* What one mean and variance is taken of. */
struct line {
    int64_t first, stride, count;
};

/* Sums over the lines for the gradients of gain and shift, [width] each. */
struct affine_sums {
    double *gain, *shift;
};

static int64_t n_lines(const struct etx_norm_args *args)
{
    return args->norm == ETX_NORM_BATCH ? args->width : args->n_rows;
}

static struct line line_at(const struct etx_norm_args *args, int64_t number)
{
    if (args->norm == ETX_NORM_BATCH)
        return (struct line){number, args->width, args->n_rows};
    return (struct line){number * args->width, 1, args->width};
}

static int64_t channel_of(
    const struct etx_norm_args *args, int64_t number, int64_t element)
{
    return args->norm == ETX_NORM_BATCH ? number : element;
}

/* mean and 1 / sqrt(variance + eps) of a line; 0 where both are 0. */
static void statistics(
    double *mean, double *inverse, const float *x, struct line line, double eps)
{
    double sum = 0.0;
    double squares = 0.0;

    for (int64_t t = 0; t < line.count; t++)
        sum += (double)x[line.first + t * line.stride];
    *mean = sum / (double)line.count;
    for (int64_t t = 0; t < line.count; t++) {
        const double d = (double)x[line.first + t * line.stride] - *mean;
        squares += d * d;
    }
    const double variance = squares / (double)line.count + eps;
    *inverse = variance > 0.0 ? 1.0 / sqrt(variance) : 0.0;
}

static void normalise(const struct etx_norm_args *args, int64_t number)
{
    const struct line line = line_at(args, number);
    double mean, inverse;

    statistics(&mean, &inverse, args->x, line, (double)args->eps);
    for (int64_t t = 0; t < line.count; t++) {
        const int64_t at = line.first + t * line.stride;
        const int64_t channel = channel_of(args, number, t);
        double y = ((double)args->x[at] - mean) * inverse;
        if (args->gain != NULL)
            y *= (double)args->gain[channel];
        if (args->shift != NULL)
            y += (double)args->shift[channel];
        args->y[at] = (float)y;
    }
}

static void normalise_backward(const struct etx_norm_backward_args *args,
    int64_t number, struct affine_sums sums)
{
    const struct etx_norm_args *forward = &args->forward;
    const struct line line = line_at(forward, number);
    double mean, inverse;
    double mean_g = 0.0;
    double mean_gx = 0.0;

    statistics(&mean, &inverse, forward->x, line, (double)forward->eps);
    for (int64_t t = 0; t < line.count; t++) {
        const int64_t at = line.first + t * line.stride;
        const int64_t channel = channel_of(forward, number, t);
        const double x = ((double)forward->x[at] - mean) * inverse;
        const double d_y = (double)args->d_y[at];
        const double g =
            forward->gain ? d_y * (double)forward->gain[channel] : d_y;
        mean_g += g;
        mean_gx += g * x;
        sums.gain[channel] += d_y * x;
        sums.shift[channel] += d_y;
    }
    mean_g /= (double)line.count;
    mean_gx /= (double)line.count;
    for (int64_t t = 0; t < line.count; t++) {
        const int64_t at = line.first + t * line.stride;
        const int64_t channel = channel_of(forward, number, t);
        const double x = ((double)forward->x[at] - mean) * inverse;
        const double d_y = (double)args->d_y[at];
        const double g =
            forward->gain ? d_y * (double)forward->gain[channel] : d_y;
        args->d_x[at] = (float)((g - mean_g - x * mean_gx) * inverse);
    }
}

/* 1 / max(|x|, eps) of a row, 0 where both are 0; *is_clamped when eps won. */
static double inverse_length(
    int32_t *is_clamped, const float *x, int32_t width, double eps)
{
    double squares = 0.0;

    for (int32_t k = 0; k < width; k++)
        squares += (double)x[k] * (double)x[k];
    const double length = sqrt(squares);
    *is_clamped = length <= eps;
    if (*is_clamped)
        return eps > 0.0 ? 1.0 / eps : 0.0;
    return 1.0 / length;
}

static void scale_to_length_one(const struct etx_norm_args *args, int64_t row)
{
    const float *x = args->x + row * args->width;
    float *y = args->y + row * args->width;
    int32_t is_clamped;
    const double inverse =
        inverse_length(&is_clamped, x, args->width, (double)args->eps);

    for (int32_t k = 0; k < args->width; k++)
        y[k] = (float)((double)x[k] * inverse);
}

static void scale_backward(
    const struct etx_norm_backward_args *args, int64_t row)
{
    const int32_t width = args->forward.width;
    const float *x = args->forward.x + row * width;
    const float *d_y = args->d_y + row * width;
    float *d_x = args->d_x + row * width;
    int32_t is_clamped;
    const double inverse =
        inverse_length(&is_clamped, x, width, (double)args->forward.eps);
    double along = 0.0;

    if (!is_clamped)
        for (int32_t k = 0; k < width; k++)
            along += (double)d_y[k] * ((double)x[k] * inverse);
    for (int32_t k = 0; k < width; k++) {
        const double y = (double)x[k] * inverse;
        d_x[k] = (float)(((double)d_y[k] - y * along) * inverse);
    }
}

static void add_sums(float *gradient, const double *sum, int32_t width)
{
    if (gradient != NULL)
        for (int32_t k = 0; k < width; k++)
            gradient[k] = (float)((double)gradient[k] + sum[k]);
}

static etx_status lines_backward(
    struct etx_stream *stream, const struct etx_norm_backward_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int32_t width = args->forward.width;
    struct affine_sums sums = {NULL, NULL};
    etx_status status;

    ETX_SCRATCH(sums.gain, stream->arena, width, "gain sums of a norm");
    ETX_SCRATCH(sums.shift, stream->arena, width, "shift sums of a norm");
    memset(sums.gain, 0, (size_t)width * sizeof *sums.gain);
    memset(sums.shift, 0, (size_t)width * sizeof *sums.shift);
    for (int64_t l = 0; l < n_lines(&args->forward); l++)
        normalise_backward(args, l, sums);
    add_sums(args->d_gain, sums.gain, width);
    add_sums(args->d_shift, sums.shift, width);
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

etx_status etx_ref_norm(
    struct etx_stream *stream, const struct etx_norm_args *args)
{
    (void)stream;
    if (args->n_rows == 0 || args->width == 0)
        return ETX_OK;
    switch ((enum etx_norm)args->norm) {
    case ETX_NORM_LAYER:
    case ETX_NORM_BATCH:
        for (int64_t l = 0; l < n_lines(args); l++)
            normalise(args, l);
        break;
    case ETX_NORM_L2:
        for (int64_t i = 0; i < args->n_rows; i++)
            scale_to_length_one(args, i);
        break;
    case ETX_NORM_NONE:
    case ETX_N_NORMS:
        memmove(args->y, args->x,
            (size_t)args->n_rows * (size_t)args->width * sizeof *args->y);
        break;
    }
    return ETX_OK;
}

etx_status etx_ref_norm_backward(
    struct etx_stream *stream, const struct etx_norm_backward_args *args)
{
    const struct etx_norm_args *forward = &args->forward;

    if (forward->n_rows == 0 || forward->width == 0)
        return ETX_OK;
    switch ((enum etx_norm)forward->norm) {
    case ETX_NORM_LAYER:
    case ETX_NORM_BATCH:
        return lines_backward(stream, args);
    case ETX_NORM_L2:
        for (int64_t i = 0; i < forward->n_rows; i++)
            scale_backward(args, i);
        break;
    case ETX_NORM_NONE:
    case ETX_N_NORMS:
        memmove(args->d_x, args->d_y,
            (size_t)forward->n_rows * (size_t)forward->width *
                sizeof *args->d_x);
        break;
    }
    return ETX_OK;
}
