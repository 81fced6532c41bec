/* checkop/cases_linear.c -- a perceptron of one linear layer, and its gradient.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A perceptron of one layer without norm and activation. */
static struct etx_mlp_args linear_mlp(
    const struct etx_linear_args *args, const struct etx_layer *layer)
{
    return (struct etx_mlp_args){.n_rows = args->n_rows,
        .n_parts = 1,
        .n_layers = 1,
        .part = {{.data = args->x, .width = args->n_in}},
        .layer = layer,
        .out = args->y};
}

etx_status checkop_run_linear(const struct etx_op_table *ops,
    struct etx_stream *stream, const struct etx_linear_args *args)
{
    const struct etx_layer layer = {.n_in = args->n_in,
        .n_out = args->n_out,
        .weight = args->weight,
        .bias = args->bias};
    const struct etx_mlp_args mlp = linear_mlp(args, &layer);

    return ops->mlp(stream, &mlp);
}

etx_status checkop_run_linear_backward(const struct etx_op_table *ops,
    struct etx_stream *stream, const struct etx_linear_backward_args *args)
{
    const struct etx_layer layer = {
        .n_in = args->n_in, .n_out = args->n_out, .weight = args->weight};
    const struct etx_linear_args forward = {
        .n_rows = args->n_rows, .n_in = args->n_in, .x = args->x};
    const struct etx_mlp_args mlp = linear_mlp(&forward, &layer);
    const struct etx_layer_gradient gradient = {
        .weight = args->d_weight, .bias = args->d_bias};
    const struct etx_mlp_backward_args backward = {.forward = &mlp,
        .d_out = args->d_y,
        .d_part = {args->d_x},
        .gradient = &gradient};

    return ops->mlp_backward(stream, &backward);
}

static etx_status run_linear(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    return checkop_run_linear(ops, stream, self->args);
}

static etx_status run_linear_backward(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    return checkop_run_linear_backward(ops, stream, self->args);
}

/* sum of |a[t sa]| |b[t sb]| over t < n. */
static double magnitude(const float *a, int64_t stride_a, const float *b,
    int64_t stride_b, int64_t n)
{
    double sum = 0.0;

    for (int64_t t = 0; t < n; t++)
        sum += fabs((double)a[t * stride_a] * (double)b[t * stride_b]);
    return sum;
}

static void linear_bounds(struct checkop_case *self)
{
    const struct etx_linear_args *args = self->args;
    struct checkop_output *output = &self->output[0];

    checkop_flat_bound(output, 0.0);
    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t o = 0; o < args->n_out; o++) {
            const double bias = args->bias ? fabs((double)args->bias[o]) : 0.0;
            output->bound[i * args->n_out + o] =
                checkop_sum_bound(args->n_in + 1,
                    bias + magnitude(args->x + i * args->n_in, 1,
                               args->weight + (int64_t)o * args->n_in, 1,
                               args->n_in));
        }
}

void checkop_linear(
    struct checkop_case *out, int64_t n_rows, int32_t n_in, int32_t n_out)
{
    struct etx_linear_args *args = checkop_begin(out, "mlp", sizeof *args);
    float *y = checkop_floats(n_rows * n_out);

    *args = (struct etx_linear_args){.n_rows = n_rows,
        .n_in = n_in,
        .n_out = n_out,
        .x = checkop_floats(n_rows * n_in),
        .weight = checkop_floats((int64_t)n_out * n_in),
        .bias = n_out % 2 ? checkop_floats(n_out) : NULL,
        .y = y};
    out->run = run_linear;
    out->set_bounds = linear_bounds;
    out->flop = 2.0 * (double)n_rows * n_in * n_out;
    checkop_label(
        out, "rows=%d in=%d out=%d", (int)n_rows, (int)n_in, (int)n_out);
    CHECKOP_OUTPUT(out, y, n_rows * n_out);
}

static void input_bounds(
    const struct etx_linear_backward_args *args, struct checkop_output *d_x)
{
    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t k = 0; k < args->n_in; k++)
            d_x->bound[i * args->n_in + k] = checkop_sum_bound(
                args->n_out, magnitude(args->d_y + i * args->n_out, 1,
                                 args->weight + k, args->n_in, args->n_out));
}

static void weight_bounds(const struct etx_linear_backward_args *args,
    struct checkop_output *d_weight)
{
    const float *initial = d_weight->initial;

    for (int32_t o = 0; o < args->n_out; o++)
        for (int32_t k = 0; k < args->n_in; k++) {
            const int64_t at = (int64_t)o * args->n_in + k;
            d_weight->bound[at] = checkop_sum_bound(args->n_rows + 1,
                fabs((double)initial[at]) + magnitude(args->d_y + o,
                                                args->n_out, args->x + k,
                                                args->n_in, args->n_rows));
        }
}

static void linear_backward_bounds(struct checkop_case *self)
{
    static const float one = 1.0f;
    const struct etx_linear_backward_args *args = self->args;
    struct checkop_output *d_bias = &self->output[2];
    const float *initial = d_bias->initial;

    for (int32_t o = 0; o < self->n_outputs; o++)
        checkop_flat_bound(&self->output[o], 0.0);
    input_bounds(args, &self->output[0]);
    weight_bounds(args, &self->output[1]);
    for (int32_t o = 0; o < args->n_out; o++)
        d_bias->bound[o] = checkop_sum_bound(args->n_rows + 1,
            fabs((double)initial[o]) +
                magnitude(args->d_y + o, args->n_out, &one, 0, args->n_rows));
}

void checkop_linear_backward(
    struct checkop_case *out, int64_t n_rows, int32_t n_in, int32_t n_out)
{
    struct etx_linear_backward_args *args =
        checkop_begin(out, "mlp_backward", sizeof *args);
    const int64_t n_weights = (int64_t)n_out * n_in;

    *args = (struct etx_linear_backward_args){.n_rows = n_rows,
        .n_in = n_in,
        .n_out = n_out,
        .x = checkop_floats(n_rows * n_in),
        .weight = checkop_floats(n_weights),
        .d_y = checkop_floats(n_rows * n_out),
        .d_x = checkop_floats(n_rows * n_in),
        .d_weight = checkop_floats(n_weights),
        .d_bias = checkop_floats(n_out)};
    out->run = run_linear_backward;
    out->set_bounds = linear_backward_bounds;
    out->flop = 4.0 * (double)n_rows * n_in * n_out;
    checkop_label(
        out, "rows=%d in=%d out=%d", (int)n_rows, (int)n_in, (int)n_out);
    CHECKOP_OUTPUT(out, args->d_x, n_rows * n_in);
    CHECKOP_OUTPUT(out, args->d_weight, n_weights);
    CHECKOP_OUTPUT(out, args->d_bias, n_out);
}
