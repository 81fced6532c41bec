/* op/ref/arrays.c -- small work on whole arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/bfloat16.h"
#include "base/finite.h"
#include "base/float16.h"
#include "op/shared/edge_index.h"

#include <string.h>

#define BLOCK 65536 /* edges of a block */

etx_status etx_ref_fill(
    struct etx_stream *stream, const struct etx_fill_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        args->y[i] = args->value;
    return ETX_OK;
}

static double mean_of_column(const struct etx_columns_args *args, int32_t k)
{
    double sum = 0.0;

    for (int64_t i = 0; i < args->n_rows; i++)
        sum += (double)args->x[i * args->x_stride + k];
    return sum / (double)args->n_rows;
}

static void copy_columns(const struct etx_columns_args *args)
{
    for (int64_t i = 0; i < args->n_rows; i++)
        memcpy(args->y + i * args->y_stride, args->x + i * args->x_stride,
            (size_t)args->width * sizeof *args->y);
}

static void add_columns(const struct etx_columns_args *args)
{
    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t k = 0; k < args->width; k++)
            args->y[i * args->y_stride + k] += args->x[i * args->x_stride + k];
}

static void centre_columns(const struct etx_columns_args *args)
{
    for (int32_t k = 0; k < args->width; k++) {
        const double mean = mean_of_column(args, k);

        for (int64_t i = 0; i < args->n_rows; i++)
            args->y[i * args->y_stride + k] =
                (float)((double)args->x[i * args->x_stride + k] - mean);
    }
}

etx_status etx_ref_columns(
    struct etx_stream *stream, const struct etx_columns_args *args)
{
    (void)stream;
    if (args->n_rows == 0)
        return ETX_OK;
    if (args->add)
        add_columns(args);
    else if (args->centre)
        centre_columns(args);
    else
        copy_columns(args);
    return ETX_OK;
}

static etx_status gather_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_gather_edges_args *args = argument;

    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const int32_t e = args->index[k];

        args->src_out[k] = args->src[e];
        if (args->dst != NULL)
            args->dst_out[k] = args->dst[e];
        if (args->score != NULL)
            args->score_out[k] = args->score[e];
    }
    return ETX_OK;
}

/* Each edge may miss the cache. */
etx_status etx_ref_gather_edges(
    struct etx_stream *stream, const struct etx_gather_edges_args *args)
{
    struct etx_gather_edges_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n, BLOCK, gather_block, &job);
}

etx_status etx_ref_read_edge_index(
    struct etx_stream *stream, const struct etx_read_edge_index_args *args)
{
    (void)stream;
    *args->bad = -1;
    for (int64_t e = args->n_edges - 1; e >= 0; e--)
        if (!etx_read_edge(args, e))
            *args->bad = e;
    return ETX_OK;
}

etx_status etx_ref_write_edge_index(
    struct etx_stream *stream, const struct etx_write_edge_index_args *args)
{
    (void)stream;
    for (int64_t k = 0; k < args->n; k++)
        etx_write_edge(args, k);
    return ETX_OK;
}

etx_status etx_ref_find_not_finite(
    struct etx_stream *stream, const struct etx_find_not_finite_args *args)
{
    (void)stream;
    *args->index = etx_find_not_finite(args->x, args->n);
    return ETX_OK;
}

etx_status etx_ref_scale(
    struct etx_stream *stream, const struct etx_scale_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        args->y[i] *= args->factor;
    return ETX_OK;
}

etx_status etx_ref_sum_squares(
    struct etx_stream *stream, const struct etx_sum_squares_args *args)
{
    double sum = 0.0;

    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        sum += (double)args->x[i] * (double)args->x[i];
    *args->sum = sum;
    return ETX_OK;
}

etx_status etx_ref_narrow(
    struct etx_stream *stream, const struct etx_narrow_args *args)
{
    (void)stream;
    if (args->format == ETX_HALF_BFLOAT16)
        etx_bfloat16_from_floats(args->y, args->x, args->n);
    else
        etx_float16_from_floats(args->y, args->x, args->n);
    return ETX_OK;
}

etx_status etx_ref_widen(
    struct etx_stream *stream, const struct etx_widen_args *args)
{
    (void)stream;
    if (args->format == ETX_HALF_BFLOAT16)
        etx_bfloat16_to_floats(args->y, args->x, args->n);
    else
        etx_float16_to_floats(args->y, args->x, args->n);
    return ETX_OK;
}

etx_status etx_ref_outward_key(
    struct etx_stream *stream, const struct etx_outward_key_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n; i++) {
        const float *p = args->position + 3 * i;

        args->key[i] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    }
    return ETX_OK;
}
