/* op/ref/segment_reduce.c -- reduce the values of every segment, and the
 * gradient of that.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/float16.h"

#include <math.h>

/* The value v at index t of the segment order. */
static int64_t value_at(const struct etx_segment_reduce_args *args, int64_t t)
{
    return args->order != NULL ? args->order[t] : t;
}

static float read(
    const struct etx_segment_reduce_args *args, int64_t v, int32_t k)
{
    const int64_t row = args->gather != NULL ? args->gather[v] : v;
    const int64_t at = row * args->width + k;
    const float x =
        args->half != NULL ? etx_float16_to_float(args->half[at]) : args->x[at];

    return args->weight != NULL ? args->weight[v] * x : x;
}

static float sum_of(
    const struct etx_segment_reduce_args *args, int64_t s, int32_t k)
{
    float sum = 0.0f;

    for (int64_t t = args->offset[s]; t < args->offset[s + 1]; t++)
        sum += read(args, value_at(args, t), k);
    return sum;
}

static float mean_of(
    const struct etx_segment_reduce_args *args, int64_t s, int32_t k)
{
    const int64_t count = args->offset[s + 1] - args->offset[s];

    return sum_of(args, s, k) / (float)(count > 1 ? count : 1);
}

static float max_of(
    const struct etx_segment_reduce_args *args, int64_t s, int32_t k)
{
    float best = 0.0f;

    for (int64_t t = args->offset[s]; t < args->offset[s + 1]; t++) {
        const float x = read(args, value_at(args, t), k);
        if (t == args->offset[s] || x > best)
            best = x;
    }
    return best;
}

/* What the sum of squares is divided by. */
static float std_divisor(int64_t count)
{
    return (float)(count > 2 ? count - 1 : 1) + 1e-6f;
}

static float std_of(
    const struct etx_segment_reduce_args *args, int64_t s, int32_t k)
{
    const int64_t count = args->offset[s + 1] - args->offset[s];
    const float mean = mean_of(args, s, k);
    float squares = 0.0f;

    for (int64_t t = args->offset[s]; t < args->offset[s + 1]; t++) {
        const float d = read(args, value_at(args, t), k) - mean;
        squares += d * d;
    }
    return sqrtf(squares / std_divisor(count));
}

static float reduce(
    const struct etx_segment_reduce_args *args, int64_t s, int32_t k)
{
    switch ((enum etx_reduce)args->reduce) {
    case ETX_REDUCE_MEAN:
        return mean_of(args, s, k);
    case ETX_REDUCE_MAX:
        return max_of(args, s, k);
    case ETX_REDUCE_STD:
        return std_of(args, s, k);
    case ETX_REDUCE_SUM:
    case ETX_N_REDUCES:
        break;
    }
    return sum_of(args, s, k);
}

/* The index of the maximum of segment s; -1: none. */
static int64_t index_of_max(
    const struct etx_segment_reduce_args *args, int64_t s, int32_t k)
{
    const float max = args->out[s * args->width + k];

    for (int64_t t = args->offset[s]; t < args->offset[s + 1]; t++)
        if (read(args, value_at(args, t), k) == max)
            return t;
    return -1;
}

/* d out[s, k] / d x[v, k] for v at index t; `mean` and `best` belong to
 * the segment. */
static double derivative(const struct etx_segment_reduce_args *args, int64_t s,
    int32_t k, int64_t t, double mean, int64_t best)
{
    const int64_t count = args->offset[s + 1] - args->offset[s];

    switch ((enum etx_reduce)args->reduce) {
    case ETX_REDUCE_MEAN:
        return 1.0 / (double)count;
    case ETX_REDUCE_MAX:
        return t == best ? 1.0 : 0.0;
    case ETX_REDUCE_STD: {
        const double out = (double)args->out[s * args->width + k];
        const double d = (double)read(args, value_at(args, t), k) - mean;
        return out > 0.0 ? d / (out * (double)std_divisor(count)) : 0.0;
    }
    case ETX_REDUCE_SUM:
    case ETX_N_REDUCES:
        break;
    }
    return 1.0;
}

static void segment_backward(
    const struct etx_segment_reduce_backward_args *args, int64_t s, int32_t k)
{
    const struct etx_segment_reduce_args *forward = &args->forward;
    const int32_t reduce_kind = forward->reduce;
    const double d_out = (double)args->d_out[s * forward->width + k];
    const double mean =
        reduce_kind == ETX_REDUCE_STD ? (double)mean_of(forward, s, k) : 0.0;
    const int64_t best =
        reduce_kind == ETX_REDUCE_MAX ? index_of_max(forward, s, k) : -1;

    for (int64_t t = forward->offset[s]; t < forward->offset[s + 1]; t++) {
        const int64_t v = value_at(forward, t);
        const double d = d_out * derivative(forward, s, k, t, mean, best);
        float *d_x = args->d_x + v * forward->width + k;
        *d_x = (float)(args->add ? (double)*d_x + d : d);
    }
}

etx_status etx_ref_segment_reduce(
    struct etx_stream *stream, const struct etx_segment_reduce_args *args)
{
    for (int64_t s = 0; s < args->n_segments; s++)
        for (int32_t k = 0; k < args->width; k++) {
            const float result = reduce(args, s, k);
            float *out = args->out + s * args->width + k;
            *out = args->add ? *out + result : result;
        }
    return args->next == NULL ? ETX_OK
                              : etx_ref_segment_reduce(stream, args->next);
}

etx_status etx_ref_segment_reduce_backward(struct etx_stream *stream,
    const struct etx_segment_reduce_backward_args *args)
{
    (void)stream;
    for (int64_t s = 0; s < args->forward.n_segments; s++)
        for (int32_t k = 0; k < args->forward.width; k++)
            segment_backward(args, s, k);
    return ETX_OK;
}
