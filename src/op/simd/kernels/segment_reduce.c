/* op/simd/kernels/segment_reduce.c -- reductions of segments, and their
 * gradients.
 *
 * Segments are independent. A strip of columns of one segment is accumulated in
 * registers over the values in segment order, so that sums have the bits of the
 * reference.
 *
 *     x      | strip 0 | strip 1 |      value v0 = order[offset[s]]
 *            | strip 0 | strip 1 |      value v1     (gathered, prefetched)
 *     out[s] |  sums   |  sums   |
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"

#include "op/simd/vector.h"

#define INLINE static inline __attribute__((always_inline))

#define BLOCK_SEGMENTS 256
#define STRIP          4  /* vectors of columns that are reduced together */
#define AHEAD          24 /* software prefetch distance, values */

/* The columns of a strip: vectors 0 .. n_vectors - 1 from column `begin`; of
 * the last one only the lanes in `some`. */
struct strip {
    int32_t begin, n_vectors;
    vmask some;
};

static struct strip strip_at(int32_t begin, int32_t width)
{
    const int32_t left = width - begin;
    struct strip strip = {.begin = begin};

    strip.n_vectors = (left + VEC_WIDTH - 1) / VEC_WIDTH;
    if (strip.n_vectors > STRIP)
        strip.n_vectors = STRIP;
    strip.some = v_first(left - (strip.n_vectors - 1) * VEC_WIDTH);
    return strip;
}

INLINE vec load(const float *x, const struct strip *strip, const int v)
{
    const float *from = x + strip->begin + v * VEC_WIDTH;

    return v == strip->n_vectors - 1 ? v_load_mask(from, strip->some)
                                     : v_load(from);
}

INLINE void store(float *x, const struct strip *strip, const int v, vec a)
{
    float *to = x + strip->begin + v * VEC_WIDTH;

    if (v == strip->n_vectors - 1)
        v_store_mask(to, a, strip->some);
    else
        v_store(to, a);
}

INLINE int64_t value_at(const struct etx_segment_reduce_args *args, int64_t t)
{
    return args->order != NULL ? args->order[t] : t;
}

INLINE const float *row_of(
    const struct etx_segment_reduce_args *args, int64_t v)
{
    return args->x + (args->gather != NULL ? args->gather[v] : v) * args->width;
}

/* What a pass over the values of a segment does with them. */
enum pass {
    PASS_SUM,
    PASS_MAX,
    PASS_SQUARES /* sum of (x - mean)^2 */
};

/* result [STRIP]; mean [STRIP] for PASS_SQUARES. */
INLINE void pass_over(vec *result, const struct etx_segment_reduce_args *args,
    const struct strip *strip, const int n_vectors, const enum pass pass,
    int64_t s, const vec *mean)
{
    const int64_t begin = args->offset[s];
    const int64_t end = args->offset[s + 1];
    /* Segments are short: the prefetched values belong to later ones. */
    const int64_t prefetch_end = args->order != NULL || args->gather != NULL
                                     ? args->offset[args->n_segments] - AHEAD
                                     : 0;
    struct strip known = *strip;
    vec sum[STRIP];

    known.n_vectors = n_vectors;
    for (int i = 0; i < n_vectors; i++)
        sum[i] = v_zero();
    for (int64_t t = begin; t < end; t++) {
        const int64_t v = value_at(args, t);
        const float *x = row_of(args, v);
        if (t < prefetch_end) {
            const float *next = row_of(args, value_at(args, t + AHEAD));
            for (int i = 0; i < n_vectors; i++)
                __builtin_prefetch(next + known.begin + i * VEC_WIDTH);
        }
        for (int i = 0; i < n_vectors; i++) {
            vec a = load(x, &known, i);
            if (pass == PASS_MAX) {
                /* An equal value changes nothing: the first one wins. */
                sum[i] = t == begin ? a : v_max(a, sum[i]);
                continue;
            }
            if (pass == PASS_SQUARES) {
                a = a - mean[i];
                a = a * a;
            } else if (args->weight != NULL) {
                a = v_set1(args->weight[v]) * a;
            }
            sum[i] = sum[i] + a;
        }
    }
    for (int i = 0; i < n_vectors; i++)
        result[i] = sum[i];
}

/* pass_over with the number of vectors known to the compiler. */
INLINE void reduce_pass(vec *result, const struct etx_segment_reduce_args *args,
    const struct strip *strip, const enum pass pass, int64_t s, const vec *mean)
{
    if (strip->n_vectors == 1)
        pass_over(result, args, strip, 1, pass, s, mean);
    else if (strip->n_vectors == 2)
        pass_over(result, args, strip, 2, pass, s, mean);
    else if (strip->n_vectors == 3)
        pass_over(result, args, strip, 3, pass, s, mean);
    else
        pass_over(result, args, strip, 4, pass, s, mean);
}

static float std_divisor(int64_t count)
{
    return (float)(count > 2 ? count - 1 : 1) + 1e-6f;
}

/* One strip of columns of segment s. */
static void reduce_strip(const struct etx_segment_reduce_args *args,
    const struct strip *strip, int64_t s)
{
    const int64_t count = args->offset[s + 1] - args->offset[s];
    const vec n = v_set1((float)(count > 1 ? count : 1));
    float *out = args->out + s * args->width;
    vec result[STRIP];

    if (args->reduce == ETX_REDUCE_MAX)
        reduce_pass(result, args, strip, PASS_MAX, s, NULL);
    else
        reduce_pass(result, args, strip, PASS_SUM, s, NULL);
    if (args->reduce == ETX_REDUCE_MEAN || args->reduce == ETX_REDUCE_STD)
        for (int i = 0; i < strip->n_vectors; i++)
            result[i] = result[i] / n;
    if (args->reduce == ETX_REDUCE_STD) {
        vec mean[STRIP];
        for (int i = 0; i < strip->n_vectors; i++)
            mean[i] = result[i];
        reduce_pass(result, args, strip, PASS_SQUARES, s, mean);
        for (int i = 0; i < strip->n_vectors; i++)
            result[i] = v_sqrt(result[i] / v_set1(std_divisor(count)));
    }
    for (int i = 0; i < strip->n_vectors; i++) {
        if (args->add)
            result[i] = load(out, strip, i) + result[i];
        store(out, strip, i, result[i]);
    }
}

static etx_status reduce_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_segment_reduce_args *args = argument;

    (void)worker;
    for (int64_t s = begin; s < end; s++)
        for (int32_t k = 0; k < args->width; k += STRIP * VEC_WIDTH) {
            const struct strip strip = strip_at(k, args->width);
            reduce_strip(args, &strip, s);
        }
    return ETX_OK;
}

etx_status ETX_ISA_NAME(segment_reduce)(
    struct etx_stream *stream, const struct etx_segment_reduce_args *args)
{
    etx_status status = ETX_OK;

    for (; args != NULL; args = args->next) {
        struct etx_segment_reduce_args job = *args;

        ETX_CHECK(etx_parallel_ranges(stream->pool, args->n_segments,
            BLOCK_SEGMENTS, reduce_block, &job));
    }
done:
    return status;
}

/* ------------------------------------------------------------ backward -- */

/* d_x row v (+)= d. */
INLINE void write_gradient(const struct etx_segment_reduce_backward_args *args,
    const struct strip *strip, const int i, int64_t v, vec d)
{
    float *d_x = args->d_x + v * args->forward.width;

    if (args->add)
        d = load(d_x, strip, i) + d;
    store(d_x, strip, i, d);
}

/* SUM and MEAN: the same gradient for every value. */
static void backward_share(const struct etx_segment_reduce_backward_args *args,
    const struct strip *strip, int64_t s)
{
    const struct etx_segment_reduce_args *forward = &args->forward;
    const int64_t begin = forward->offset[s];
    const int64_t end = forward->offset[s + 1];
    const float *d_out = args->d_out + s * forward->width;
    const float count =
        forward->reduce == ETX_REDUCE_MEAN ? (float)(end - begin) : 1.0f;
    vec d[STRIP];

    for (int i = 0; i < strip->n_vectors; i++)
        d[i] = load(d_out, strip, i) / v_set1(count);
    for (int64_t t = begin; t < end; t++) {
        const int64_t v = value_at(forward, t);
        for (int i = 0; i < strip->n_vectors; i++)
            write_gradient(args, strip, i, v, d[i]);
    }
}

/* MAX: the first value equal to the maximum gets all. */
static void backward_max(const struct etx_segment_reduce_backward_args *args,
    const struct strip *strip, int64_t s)
{
    const struct etx_segment_reduce_args *forward = &args->forward;
    const float *d_out = args->d_out + s * forward->width;
    const float *out = forward->out + s * forward->width;
    vec d[STRIP];

    for (int i = 0; i < strip->n_vectors; i++)
        d[i] = load(d_out, strip, i);
    for (int64_t t = forward->offset[s]; t < forward->offset[s + 1]; t++) {
        const int64_t v = value_at(forward, t);
        const float *x = row_of(forward, v);
        for (int i = 0; i < strip->n_vectors; i++) {
            const vec value = load(x, strip, i);
            const vec best = load(out, strip, i);
            const vec none = v_zero();
            const vec chosen = v_select(v_less(value, best), none,
                v_select(v_less(best, value), none, d[i]));
            write_gradient(args, strip, i, v, chosen);
            /* The gradient has been added once. */
            d[i] = v_select(v_less(value, best), d[i],
                v_select(v_less(best, value), d[i], none));
        }
    }
}

static void backward_std(const struct etx_segment_reduce_backward_args *args,
    const struct strip *strip, int64_t s)
{
    const struct etx_segment_reduce_args *forward = &args->forward;
    const int64_t begin = forward->offset[s];
    const int64_t end = forward->offset[s + 1];
    const float *d_out = args->d_out + s * forward->width;
    const float *out = forward->out + s * forward->width;
    const vec count = v_set1((float)(end - begin > 1 ? end - begin : 1));
    vec mean[STRIP], divisor[STRIP], d[STRIP];

    reduce_pass(mean, forward, strip, PASS_SUM, s, NULL);
    for (int i = 0; i < strip->n_vectors; i++) {
        const vec std = load(out, strip, i);
        const vmask some = v_less(v_zero(), std);
        mean[i] = mean[i] / count;
        divisor[i] = v_select(
            some, std * v_set1(std_divisor(end - begin)), v_set1(1.0f));
        d[i] = v_select(some, load(d_out, strip, i), v_zero());
    }
    for (int64_t t = begin; t < end; t++) {
        const int64_t v = value_at(forward, t);
        const float *x = row_of(forward, v);
        for (int i = 0; i < strip->n_vectors; i++)
            write_gradient(args, strip, i, v,
                (load(x, strip, i) - mean[i]) / divisor[i] * d[i]);
    }
}

static etx_status backward_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_segment_reduce_backward_args *args = argument;
    const struct etx_segment_reduce_args *forward = &args->forward;

    (void)worker;
    for (int64_t s = begin; s < end; s++)
        for (int32_t k = 0; k < forward->width; k += STRIP * VEC_WIDTH) {
            const struct strip strip = strip_at(k, forward->width);
            if (forward->reduce == ETX_REDUCE_MAX)
                backward_max(args, &strip, s);
            else if (forward->reduce == ETX_REDUCE_STD)
                backward_std(args, &strip, s);
            else
                backward_share(args, &strip, s);
        }
    return ETX_OK;
}

etx_status ETX_ISA_NAME(segment_reduce_backward)(struct etx_stream *stream,
    const struct etx_segment_reduce_backward_args *args)
{
    struct etx_segment_reduce_backward_args job = *args;

    return etx_parallel_ranges(stream->pool, args->forward.n_segments,
        BLOCK_SEGMENTS, backward_block, &job);
}
