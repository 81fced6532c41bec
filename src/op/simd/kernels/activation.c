/* op/simd/kernels/activation.c -- activations, element by element.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/finite.h"

#include "op/simd/vector.h"
#include "op/simd/vector_math.h"

#define INLINE static inline __attribute__((always_inline))

#define BLOCK 16384 /* elements */

struct job {
    int64_t n;
    int32_t activation;
    const float *x;
    const float *d_y; /* NULL: forward */
    float *out;       /* y, or d_x */
};

INLINE vec evaluate(
    const enum etx_activation kind, const vec x, const vec d_y, int backward)
{
    vec slope;
    const vec y = v_activation(&slope, kind, x);

    if (backward)
        return d_y * slope;
    return y;
}

/* Elements begin .. end - 1. */
INLINE void run(const struct job *job, const enum etx_activation kind,
    const int backward, int64_t begin, int64_t end)
{
    int64_t i = begin;

    for (; i + VEC_WIDTH <= end; i += VEC_WIDTH)
        v_store(job->out + i,
            evaluate(kind, v_load(job->x + i),
                backward ? v_load(job->d_y + i) : v_zero(), backward));
    if (i < end) {
        const vmask some = v_first((int32_t)(end - i));
        v_store_mask(job->out + i,
            evaluate(kind, v_load_mask(job->x + i, some),
                backward ? v_load_mask(job->d_y + i, some) : v_zero(),
                backward),
            some);
    }
}

INLINE void run_direction(
    const struct job *job, const int backward, int64_t begin, int64_t end)
{
    switch ((enum etx_activation)job->activation) {
    case ETX_ACTIVATION_RELU:
        run(job, ETX_ACTIVATION_RELU, backward, begin, end);
        break;
    case ETX_ACTIVATION_SILU:
        run(job, ETX_ACTIVATION_SILU, backward, begin, end);
        break;
    case ETX_ACTIVATION_TANH:
        run(job, ETX_ACTIVATION_TANH, backward, begin, end);
        break;
    case ETX_ACTIVATION_GELU:
        run(job, ETX_ACTIVATION_GELU, backward, begin, end);
        break;
    case ETX_ACTIVATION_ELU:
        run(job, ETX_ACTIVATION_ELU, backward, begin, end);
        break;
    case ETX_ACTIVATION_SIGMOID:
        run(job, ETX_ACTIVATION_SIGMOID, backward, begin, end);
        break;
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        run(job, ETX_ACTIVATION_NONE, backward, begin, end);
        break;
    }
}

static etx_status run_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;

    (void)worker;
    if (job->d_y != NULL)
        run_direction(job, 1, begin, end);
    else
        run_direction(job, 0, begin, end);
    return ETX_OK;
}

etx_status ETX_ISA_NAME(activation)(
    struct etx_stream *stream, const struct etx_activation_args *args)
{
    struct job job = {.n = args->n,
        .activation = args->activation,
        .x = args->x,
        .out = args->y};

    if (args->not_finite != NULL)
        *args->not_finite = etx_find_not_finite(args->x, args->n);
    return etx_parallel_ranges(stream->pool, args->n, BLOCK, run_block, &job);
}

etx_status ETX_ISA_NAME(activation_backward)(
    struct etx_stream *stream, const struct etx_activation_backward_args *args)
{
    struct job job = {.n = args->n,
        .activation = args->activation,
        .x = args->x,
        .d_y = args->d_y,
        .out = args->d_x};

    return etx_parallel_ranges(stream->pool, args->n, BLOCK, run_block, &job);
}
