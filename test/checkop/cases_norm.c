/* checkop/cases_norm.c -- a perceptron that is nothing but a norm, and its
 * gradient.
 *
 * Bounds: with X = max|x| / sigma of a line, float32 knows x^ to X eps sqrt(n)
 * and 1 / sigma relatively to the same; the rest are sums.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A row, or a channel over all rows, of the matrix that is normalised. */
struct line {
    int64_t first, stride, count, channel, channel_stride;
    double mean, inverse; /* what x is shifted and scaled by */
    double reach;         /* max|x| * inverse */
};

static int64_t n_lines(const struct etx_norm_args *args)
{
    return args->norm == ETX_NORM_BATCH ? args->width : args->n_rows;
}

static struct line line_at(const struct etx_norm_args *args, int64_t number)
{
    struct line line = {.first = number * args->width,
        .stride = 1,
        .count = args->width,
        .channel_stride = 1};
    double sum = 0.0, squares = 0.0, largest = 0.0;

    if (args->norm == ETX_NORM_BATCH)
        line = (struct line){.first = number,
            .stride = args->width,
            .count = args->n_rows,
            .channel = number};
    for (int64_t t = 0; t < line.count; t++)
        sum += (double)args->x[line.first + t * line.stride];
    if (args->norm != ETX_NORM_L2)
        line.mean = sum / (double)line.count;
    for (int64_t t = 0; t < line.count; t++) {
        const double x = (double)args->x[line.first + t * line.stride];
        squares += (x - line.mean) * (x - line.mean);
        largest = fmax(largest, fabs(x));
    }
    line.inverse =
        args->norm == ETX_NORM_L2
            ? 1.0 / fmax(sqrt(squares), (double)args->eps)
            : 1.0 / sqrt(squares / (double)line.count + (double)args->eps);
    line.reach = largest * line.inverse;
    return line;
}

static double gain_of(const struct etx_norm_args *args, int64_t channel)
{
    return args->gain != NULL ? (double)args->gain[channel] : 1.0;
}

/* A perceptron whose linear is nothing but the added rows x. */
static struct etx_mlp_args norm_mlp(
    const struct etx_norm_args *args, struct etx_layer *layer)
{
    *layer = (struct etx_layer){.n_out = args->width,
        .gain = args->gain,
        .shift = args->shift,
        .eps = args->eps,
        .norm = args->norm};
    return (struct etx_mlp_args){.n_rows = args->n_rows,
        .n_added = 1,
        .n_layers = 1,
        .added = {{.data = args->x, .width = args->width}},
        .layer = layer,
        .out = args->y};
}

etx_status checkop_run_norm(const struct etx_op_table *ops,
    struct etx_stream *stream, const struct etx_norm_args *args)
{
    struct etx_layer layer;
    const struct etx_mlp_args mlp = norm_mlp(args, &layer);

    return ops->mlp(stream, &mlp);
}

etx_status checkop_run_norm_backward(const struct etx_op_table *ops,
    struct etx_stream *stream, const struct etx_norm_backward_args *args)
{
    struct etx_layer layer;
    const struct etx_mlp_args mlp = norm_mlp(&args->forward, &layer);
    const struct etx_layer_gradient gradient = {
        .gain = args->d_gain, .shift = args->d_shift};
    const struct etx_mlp_backward_args backward = {.forward = &mlp,
        .d_out = args->d_y,
        .d_added = args->d_x,
        .gradient = &gradient};

    return ops->mlp_backward(stream, &backward);
}

static etx_status run_norm(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    return checkop_run_norm(ops, stream, self->args);
}

static etx_status run_norm_backward(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    return checkop_run_norm_backward(ops, stream, self->args);
}

static void norm_bounds(struct checkop_case *self)
{
    const struct etx_norm_args *args = self->args;
    struct checkop_output *y = &self->output[0];

    checkop_flat_bound(y, 0.0);
    if (args->norm == ETX_NORM_NONE)
        return;
    for (int64_t l = 0; l < n_lines(args) && y->n > 0; l++) {
        const struct line line = line_at(args, l);
        for (int64_t t = 0; t < line.count; t++) {
            const int64_t c = line.channel + t * line.channel_stride;
            const double shift =
                args->shift ? fabs((double)args->shift[c]) : 0.0;
            y->bound[line.first + t * line.stride] =
                checkop_sum_bound(line.count + 8,
                    shift + (line.reach + 1.0) * fabs(gain_of(args, c)));
        }
    }
}

void checkop_norm(
    struct checkop_case *out, int32_t norm, int64_t n_rows, int32_t width)
{
    struct etx_norm_args *args = checkop_begin(out, "mlp", sizeof *args);
    float *x = checkop_floats(n_rows * width);
    float *y = checkop_floats(n_rows * width);
    const int32_t affine = norm != ETX_NORM_L2 && width % 2;

    *args = (struct etx_norm_args){.n_rows = n_rows,
        .width = width,
        .norm = norm,
        .eps = 1e-5f,
        .x = x,
        .gain = affine ? checkop_floats(width) : NULL,
        .shift = affine ? checkop_floats(width) : NULL,
        .y = y};
    out->run = run_norm;
    out->set_bounds = norm_bounds;
    out->flop = 7.0 * (double)n_rows * width;
    checkop_label(
        out, "norm=%d rows=%d width=%d", (int)norm, (int)n_rows, (int)width);
    CHECKOP_OUTPUT(out, y, n_rows * width);
}

/* Bounds of a line of d_x; adds the magnitudes of its terms to the sums of
 * d_gain and d_shift [width]. */
static void line_backward_bounds(struct checkop_case *self,
    const struct etx_norm_args *forward, const struct line *line,
    const float *d_y, double *gain_sum, double *shift_sum)
{
    double mean_g = 0.0, mean_gx = 0.0;

    for (int64_t t = 0; t < line->count; t++) {
        const int64_t at = line->first + t * line->stride;
        const int64_t c = line->channel + t * line->channel_stride;
        const double d = fabs((double)d_y[at]);
        const double x =
            fabs(((double)forward->x[at] - line->mean) * line->inverse);
        mean_g += d * fabs(gain_of(forward, c)) / (double)line->count;
        mean_gx += d * fabs(gain_of(forward, c)) * x / (double)line->count;
        gain_sum[c] += d * (x + line->reach);
        shift_sum[c] += d;
    }
    if (forward->norm == ETX_NORM_L2)
        mean_gx *= (double)line->count; /* a sum there */
    for (int64_t t = 0; t < line->count; t++) {
        const int64_t at = line->first + t * line->stride;
        const int64_t c = line->channel + t * line->channel_stride;
        const double g = fabs((double)d_y[at] * gain_of(forward, c));
        const double x =
            fabs(((double)forward->x[at] - line->mean) * line->inverse);
        self->output[0].bound[at] = checkop_sum_bound(
            line->count + 8, (1.0 + line->reach) * line->inverse *
                                 (g + (1.0 + x) * (mean_g + mean_gx)));
    }
}

static void norm_backward_bounds(struct checkop_case *self)
{
    const struct etx_norm_backward_args *args = self->args;
    const struct etx_norm_args *forward = &args->forward;
    const float *d_y = args->d_y;
    double *gain_sum = checkop_buffer(forward->width, sizeof(double));
    double *shift_sum = checkop_buffer(forward->width, sizeof(double));

    for (int32_t o = 0; o < self->n_outputs; o++)
        checkop_flat_bound(&self->output[o], 0.0);
    if (forward->norm == ETX_NORM_NONE || self->output[0].n == 0)
        return;
    for (int64_t l = 0; l < n_lines(forward); l++) {
        const struct line line = line_at(forward, l);
        line_backward_bounds(self, forward, &line, d_y, gain_sum, shift_sum);
    }
    if (self->n_outputs == 1)
        return;
    for (int32_t k = 0; k < forward->width; k++) {
        const float *const gain = self->output[1].initial;
        const float *const shift = self->output[2].initial;
        const int64_t n = forward->n_rows + forward->width;
        self->output[1].bound[k] =
            checkop_sum_bound(n, gain_sum[k] + fabs((double)gain[k]));
        self->output[2].bound[k] =
            checkop_sum_bound(n, shift_sum[k] + fabs((double)shift[k]));
    }
}

void checkop_norm_backward(
    struct checkop_case *out, int32_t norm, int64_t n_rows, int32_t width)
{
    struct etx_norm_backward_args *args =
        checkop_begin(out, "mlp_backward", sizeof *args);
    const int64_t n = n_rows * width;
    const int32_t affine = norm != ETX_NORM_L2 && width % 2;
    float *d_y = checkop_floats(n);

    *args = (struct etx_norm_backward_args){
        .forward = {.n_rows = n_rows,
            .width = width,
            .norm = norm,
            .eps = 1e-5f,
            .x = checkop_floats(n),
            .gain = affine ? checkop_floats(width) : NULL,
            .shift = affine ? checkop_floats(width) : NULL},
        .d_y = d_y,
        .d_x = checkop_floats(n),
        .d_gain = affine ? checkop_floats(width) : NULL,
        .d_shift = affine ? checkop_floats(width) : NULL};
    out->run = run_norm_backward;
    out->set_bounds = norm_backward_bounds;
    out->flop = 14.0 * (double)n;
    checkop_label(
        out, "norm=%d rows=%d width=%d", (int)norm, (int)n_rows, (int)width);
    CHECKOP_OUTPUT(out, args->d_x, n);
    if (!affine)
        return;
    CHECKOP_OUTPUT(out, args->d_gain, width);
    CHECKOP_OUTPUT(out, args->d_shift, width);
}
