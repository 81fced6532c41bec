/* op/simd/kernels/rows.c -- gather, add and row_dot: rows in, rows out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "op/simd/vector.h"

#define BLOCK_FLOATS 16384 /* of the output in a block */
#define BLOCK_ROWS   1024
#define AHEAD        8  /* software prefetch distance, rows */
#define CACHE_LINE   16 /* floats */

static void prefetch_row(const float *row, int32_t width)
{
    for (int32_t k = 0; k < width; k += CACHE_LINE)
        __builtin_prefetch(row + k);
}

/* -------------------------------------------------------------- gather -- */

static void gather_row(float *y, const float *x, int32_t width, int32_t add)
{
    for (int32_t k = 0; k < width; k += VEC_WIDTH) {
        const vmask some = v_first(width - k);
        vec a = v_load_mask(x + k, some);
        if (add)
            a = v_load_mask(y + k, some) + a;
        v_store_mask(y + k, a, some);
    }
}

static etx_status gather_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_gather_args *args = argument;
    const int32_t width = args->width;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < end)
            prefetch_row(
                args->x + (int64_t)args->index[i + AHEAD] * width, width);
        gather_row(args->y + i * width,
            args->x + (int64_t)args->index[i] * width, width, args->add);
    }
    return ETX_OK;
}

etx_status ETX_ISA_NAME(gather)(
    struct etx_stream *stream, const struct etx_gather_args *args)
{
    struct etx_gather_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n_rows, BLOCK_ROWS, gather_block, &job);
}

/* ----------------------------------------------------------------- add -- */

static etx_status add_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_add_args *args = argument;
    const float alpha = args->alpha;
    const float *restrict x = args->x;
    float *restrict y = args->y;

    (void)worker;
    for (int64_t i = begin; i < end; i++)
        y[i] += alpha * x[i];
    return ETX_OK;
}

etx_status ETX_ISA_NAME(add)(
    struct etx_stream *stream, const struct etx_add_args *args)
{
    struct etx_add_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n, BLOCK_FLOATS, add_block, &job);
}

/* ------------------------------------------------------------- row_dot -- */

static const float *row_at(
    const float *x, const int32_t *index, int32_t width, int64_t i)
{
    return x + (index != NULL ? index[i] : i) * width;
}

static float dot(const float *a, const float *b, int32_t width)
{
    vec sum = v_zero();

    for (int32_t k = 0; k < width; k += VEC_WIDTH) {
        const vmask some = v_first(width - k);
        sum = v_fma(v_load_mask(a + k, some), v_load_mask(b + k, some), sum);
    }
    return v_sum(sum);
}

static etx_status row_dot_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_row_dot_args *args = argument;
    const int32_t width = args->width;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        if (i + AHEAD < end) {
            prefetch_row(
                row_at(args->a, args->a_index, width, i + AHEAD), width);
            prefetch_row(
                row_at(args->b, args->b_index, width, i + AHEAD), width);
        }
        args->out[i] = dot(row_at(args->a, args->a_index, width, i),
            row_at(args->b, args->b_index, width, i), width);
    }
    return ETX_OK;
}

etx_status ETX_ISA_NAME(row_dot)(
    struct etx_stream *stream, const struct etx_row_dot_args *args)
{
    struct etx_row_dot_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n_rows, BLOCK_ROWS, row_dot_block, &job);
}
