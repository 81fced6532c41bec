/* op/ref/linear.c -- y = x W^T + b, and its gradients.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"

#include <string.h>

static double dot(const float *a, const float *b, int32_t n)
{
    double sum = 0.0;

    for (int32_t k = 0; k < n; k++)
        sum += (double)a[k] * (double)b[k];
    return sum;
}

/* Row `row` of d_x = d_y W. sum [n_in] is scratch. */
static void input_gradient(
    const struct etx_linear_backward_args *args, int64_t row, double *sum)
{
    const int32_t n_in = args->n_in;
    const float *d_y = args->d_y + row * args->n_out;
    float *d_x = args->d_x + row * n_in;

    memset(sum, 0, (size_t)n_in * sizeof *sum);
    for (int32_t o = 0; o < args->n_out; o++) {
        const float *weight = args->weight + (int64_t)o * n_in;
        for (int32_t k = 0; k < n_in; k++)
            sum[k] += (double)d_y[o] * (double)weight[k];
    }
    for (int32_t k = 0; k < n_in; k++)
        d_x[k] = (float)sum[k];
}

/* Row o of d_W += d_y^T x. sum [n_in] is scratch. */
static void weight_gradient(
    const struct etx_linear_backward_args *args, int32_t o, double *sum)
{
    const int32_t n_in = args->n_in;
    float *d_weight = args->d_weight + (int64_t)o * n_in;

    memset(sum, 0, (size_t)n_in * sizeof *sum);
    for (int64_t i = 0; i < args->n_rows; i++) {
        const double d_y = (double)args->d_y[i * args->n_out + o];
        const float *x = args->x + i * n_in;
        for (int32_t k = 0; k < n_in; k++)
            sum[k] += d_y * (double)x[k];
    }
    for (int32_t k = 0; k < n_in; k++)
        d_weight[k] = (float)((double)d_weight[k] + sum[k]);
}

static void bias_gradient(
    const struct etx_linear_backward_args *args, int32_t o)
{
    double sum = 0.0;

    for (int64_t i = 0; i < args->n_rows; i++)
        sum += (double)args->d_y[i * args->n_out + o];
    args->d_bias[o] = (float)((double)args->d_bias[o] + sum);
}

etx_status etx_ref_linear(
    struct etx_stream *stream, const struct etx_linear_args *args)
{
    const int32_t n_in = args->n_in;
    const int32_t n_out = args->n_out;

    (void)stream;
    for (int64_t i = 0; i < args->n_rows; i++) {
        const float *x = args->x + i * n_in;
        float *y = args->y + i * n_out;
        for (int32_t o = 0; o < n_out; o++) {
            const double b = args->bias ? (double)args->bias[o] : 0.0;
            y[o] = (float)(dot(x, args->weight + (int64_t)o * n_in, n_in) + b);
        }
    }
    return ETX_OK;
}

etx_status etx_ref_linear_backward(
    struct etx_stream *stream, const struct etx_linear_backward_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    double *sum = NULL;
    etx_status status;

    ETX_SCRATCH(sum, stream->arena, args->n_in, "sums of a linear layer");
    if (args->d_x != NULL)
        for (int64_t i = 0; i < args->n_rows; i++)
            input_gradient(args, i, sum);
    if (args->d_weight != NULL)
        for (int32_t o = 0; o < args->n_out; o++)
            weight_gradient(args, o, sum);
    if (args->d_bias != NULL)
        for (int32_t o = 0; o < args->n_out; o++)
            bias_gradient(args, o);
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
