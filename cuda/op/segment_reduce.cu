/* cuda/op/segment_reduce.cu -- reduce the values of every segment, and the
 * gradient.
 *
 * A thread has one column of one segment and takes its values in the order of
 * the segment: no atomics, and the sums equal the CPU's bit by bit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/half.cuh"
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

#define VECTOR 8 /* float16s in 16 bytes */

/* The value v at index t of the segment order. */
__device__ static int64_t value_at(
    const struct etx_segment_reduce_args &args, int64_t t)
{
    return args.order != NULL ? args.order[t] : t;
}

__device__ static float read(
    const struct etx_segment_reduce_args &args, int64_t t, int32_t k)
{
    const int64_t v = value_at(args, t);
    const int64_t row = args.gather != NULL ? args.gather[v] : v;
    const int64_t at = row * args.width + k;
    const float x = args.half != NULL ? etx_unhalf(args.half[at]) : args.x[at];

    return args.weight != NULL ? args.weight[v] * x : x;
}

__device__ static float sum_of(const struct etx_segment_reduce_args &args,
    int64_t begin, int64_t end, int32_t k)
{
    float sum = 0.0f;

    for (int64_t t = begin; t < end; t++)
        sum += read(args, t, k);
    return sum;
}

__device__ static float mean_of(const struct etx_segment_reduce_args &args,
    int64_t begin, int64_t end, int32_t k)
{
    const int64_t count = end - begin;

    return sum_of(args, begin, end, k) / (float)(count > 1 ? count : 1);
}

__device__ static float max_of(const struct etx_segment_reduce_args &args,
    int64_t begin, int64_t end, int32_t k)
{
    float best = 0.0f;

    for (int64_t t = begin; t < end; t++) {
        const float x = read(args, t, k);

        if (t == begin || x > best)
            best = x;
    }
    return best;
}

/* What the sum of squares is divided by. */
__device__ static float std_divisor(int64_t count)
{
    return (float)(count > 2 ? count - 1 : 1) + 1e-6f;
}

__device__ static float std_of(const struct etx_segment_reduce_args &args,
    int64_t begin, int64_t end, int32_t k)
{
    const float mean = mean_of(args, begin, end, k);
    float squares = 0.0f;

    for (int64_t t = begin; t < end; t++) {
        const float d = read(args, t, k) - mean;

        squares += d * d;
    }
    return sqrtf(squares / std_divisor(end - begin));
}

__device__ static float reduce(const struct etx_segment_reduce_args &args,
    int64_t begin, int64_t end, int32_t k)
{
    switch ((enum etx_reduce)args.reduce) {
    case ETX_REDUCE_MEAN:
        return mean_of(args, begin, end, k);
    case ETX_REDUCE_MAX:
        return max_of(args, begin, end, k);
    case ETX_REDUCE_STD:
        return std_of(args, begin, end, k);
    case ETX_REDUCE_SUM:
    case ETX_N_REDUCES:
        break;
    }
    return sum_of(args, begin, end, k);
}

__global__ static void segment_reduce_kernel(
    struct etx_segment_reduce_args args)
{
    for (int64_t t = etx_first_item(); t < args.n_segments * args.width;
         t += etx_item_step()) {
        const int64_t s = t / args.width;
        const float result = reduce(args, args.offset[s], args.offset[s + 1],
            (int32_t)(t % args.width));

        args.out[t] = args.add ? args.out[t] + result : result;
    }
}

/* Sums of float16 of one or two lists of segments: a thread has VECTOR columns
 * of a segment, which it reads together, so that few threads have much on its
 * way. The order is the same. */
struct sums {
    struct etx_segment_reduce_args of[2];
    int32_t n;
};

__global__ static void sum_vectors_kernel(struct sums sums)
{
    const int64_t n_vectors = sums.of[0].width / VECTOR;
    const int64_t n = sums.of[0].n_segments * n_vectors;

    for (int64_t t = etx_first_item(); t < n * sums.n; t += etx_item_step()) {
        const struct etx_segment_reduce_args args =
            t < n ? sums.of[0] : sums.of[1];
        const int64_t item = t < n ? t : t - n;
        const int64_t s = item / n_vectors;
        const int64_t column = item % n_vectors * VECTOR;
        float *const out = args.out + s * args.width + column;
        float sum[VECTOR] = {};

        for (int64_t i = args.offset[s]; i < args.offset[s + 1]; i++) {
            const uint4 words = *reinterpret_cast<const uint4 *>(
                args.half + value_at(args, i) * args.width + column);
            const uint32_t word[4] = {words.x, words.y, words.z, words.w};

            for (int k = 0; k < VECTOR; k++)
                sum[k] += etx_unhalf((uint16_t)(word[k / 2] >> k % 2 * 16));
        }
        for (int k = 0; k < VECTOR; k++)
            out[k] = args.add ? out[k] + sum[k] : sum[k];
    }
}

static bool is_sum_of_vectors(const struct etx_segment_reduce_args *args)
{
    return args->half != NULL && args->reduce == ETX_REDUCE_SUM &&
           args->gather == NULL && args->weight == NULL &&
           args->width % VECTOR == 0 &&
           reinterpret_cast<uintptr_t>(args->half) % sizeof(uint4) == 0;
}

/* Whether the next one can be summed at the same time: it adds to no sum. */
static bool is_pair(const struct etx_segment_reduce_args *args)
{
    const struct etx_segment_reduce_args *const next = args->next;

    return next != NULL && is_sum_of_vectors(next) && !next->add &&
           next->n_segments == args->n_segments && next->width == args->width;
}

etx_status etx_cuda_segment_reduce(
    struct etx_stream *stream, const struct etx_segment_reduce_args *args)
{
    for (; args != NULL; args = args->next) {
        struct sums sums = {{*args}, 1};

        if (!is_sum_of_vectors(args)) {
            ETX_TRY(etx_launch(stream, args->n_segments * args->width,
                segment_reduce_kernel, *args));
            continue;
        }
        if (is_pair(args)) {
            args = args->next;
            sums.of[1] = *args;
            sums.n = 2;
        }
        ETX_TRY(
            etx_launch(stream, sums.n * args->n_segments * args->width / VECTOR,
                sum_vectors_kernel, sums));
    }
    return ETX_OK;
}

/* ------------------------------------------------------------ backward -- */

/* The first index of the maximum in a segment; -1: none. */
__device__ static int64_t index_of_max(
    const struct etx_segment_reduce_args &args, int64_t begin, int64_t end,
    int32_t k, float max)
{
    for (int64_t t = begin; t < end; t++)
        if (read(args, t, k) == max)
            return t;
    return -1;
}

/* A column of a segment: what the derivatives of its values share. */
struct column {
    int64_t count, best;
    double mean, out;
};

__device__ static double derivative(const struct etx_segment_reduce_args &args,
    const struct column &column, int64_t t, int32_t k)
{
    switch ((enum etx_reduce)args.reduce) {
    case ETX_REDUCE_MEAN:
        return 1.0 / (double)column.count;
    case ETX_REDUCE_MAX:
        return t == column.best ? 1.0 : 0.0;
    case ETX_REDUCE_STD:
        return column.out > 0.0
                   ? ((double)read(args, t, k) - column.mean) /
                         (column.out * (double)std_divisor(column.count))
                   : 0.0;
    case ETX_REDUCE_SUM:
    case ETX_N_REDUCES:
        break;
    }
    return 1.0;
}

__global__ static void segment_reduce_backward_kernel(
    struct etx_segment_reduce_backward_args args)
{
    const struct etx_segment_reduce_args &forward = args.forward;
    const int32_t width = forward.width;

    for (int64_t u = etx_first_item(); u < forward.n_segments * width;
         u += etx_item_step()) {
        const int32_t k = (int32_t)(u % width);
        const int64_t begin = forward.offset[u / width];
        const int64_t end = forward.offset[u / width + 1];
        struct column column = {end - begin, -1, 0.0, 0.0};

        if (forward.reduce == ETX_REDUCE_STD) {
            column.mean = (double)mean_of(forward, begin, end, k);
            column.out = (double)forward.out[u];
        }
        if (forward.reduce == ETX_REDUCE_MAX)
            column.best = index_of_max(forward, begin, end, k, forward.out[u]);
        for (int64_t t = begin; t < end; t++) {
            float *d_x = args.d_x + value_at(forward, t) * width + k;
            const double d =
                (double)args.d_out[u] * derivative(forward, column, t, k);

            *d_x = (float)(args.add ? (double)*d_x + d : d);
        }
    }
}

etx_status etx_cuda_segment_reduce_backward(struct etx_stream *stream,
    const struct etx_segment_reduce_backward_args *args)
{
    return etx_launch(stream, args->forward.n_segments * args->forward.width,
        segment_reduce_backward_kernel, *args);
}
