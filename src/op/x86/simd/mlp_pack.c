/* op/x86/simd/mlp_pack.c -- the layers of a perceptron made ready to run.
 *
 * Linears with nothing between become one, weights are centred for the layer
 * norm that follows them, and packed for the product.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/mlp_block.h"

#include "base/check.h"
#include "op/x86/gemm.h"
#include "op/x86/operators.h"
#include "op/x86/vector.h"

#include <string.h>

/* From this width on rows are an odd number of cache lines. */
#define WIDE       128
#define CACHE_LINE 16 /* floats */

int32_t ETX_ISA_NAME(scratch_row)(int32_t width)
{
    const int32_t lines = (width + CACHE_LINE - 1) / CACHE_LINE;

    return CACHE_LINE * (width < WIDE ? lines : lines | 1);
}

int32_t ETX_ISA_NAME(has_batch_norm)(const struct etx_mlp_args *args)
{
    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].norm == ETX_NORM_BATCH)
            return 1;
    return 0;
}

/* ------------------------------------------------------------- packing -- */

/* out [padded n] = x, zeros beyond n. */
static etx_status copy_padded(
    const float **out, struct etx_stream *stream, const float *x, int32_t n)
{
    const int32_t padded = etx_padded(n);
    float *copy = NULL;
    etx_status status = ETX_OK;

    *out = NULL;
    if (x == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_take(
        &copy, stream->arena, padded, sizeof *copy, "a vector of a layer"));
    memcpy(copy, x, (size_t)n * sizeof *copy);
    memset(copy + n, 0, (size_t)(padded - n) * sizeof *copy);
    *out = copy;
done:
    return status;
}

/* *out = a copy of w [n_rows, n_columns] with the mean of every column taken
 * off; NULL for NULL. */
static etx_status centre_columns(const float **out, struct etx_stream *stream,
    const float *w, int32_t n_rows, int32_t n_columns)
{
    double *mean = NULL;
    float *copy = NULL;
    etx_status status = ETX_OK;

    *out = NULL;
    if (w == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_take(&copy, stream->arena, (int64_t)n_rows * n_columns,
        sizeof *copy, "centred weights"));
    ETX_CHECK(etx_arena_take(
        &mean, stream->arena, n_columns, sizeof *mean, "mean of the weights"));
    memset(mean, 0, (size_t)n_columns * sizeof *mean);
    for (int32_t o = 0; o < n_rows; o++)
        for (int32_t k = 0; k < n_columns; k++)
            mean[k] += (double)w[(int64_t)o * n_columns + k];
    for (int32_t k = 0; k < n_columns; k++)
        mean[k] /= n_rows;
    for (int32_t o = 0; o < n_rows; o++)
        for (int32_t k = 0; k < n_columns; k++) {
            const int64_t at = (int64_t)o * n_columns + k;
            copy[at] = (float)((double)w[at] - mean[k]);
        }
    *out = copy;
done:
    return status;
}

/* Weight and bias as they are, or centred copies for a layer norm. */
static etx_status centre(const float **weight, const float **bias,
    struct etx_stream *stream, const struct etx_layer *from)
{
    etx_status status = ETX_OK;

    *weight = from->weight;
    *bias = from->bias;
    if (from->norm != ETX_NORM_LAYER || from->norm_last)
        return ETX_OK;
    ETX_CHECK(
        centre_columns(weight, stream, from->weight, from->n_out, from->n_in));
    ETX_CHECK(centre_columns(bias, stream, from->bias, from->n_out, 1));
done:
    return status;
}

/* n_added rows are added to the linear, centred or not. */
static etx_status pack_layer(struct etx_block_layer *layer,
    struct etx_stream *stream, const struct etx_layer *from, int32_t n_added,
    int32_t added_is_centred, int32_t backward)
{
    const int32_t n_in = from->n_in;
    const int32_t n_out = from->n_out;
    const float *weight, *bias;
    float *packed = NULL;
    etx_status status;

    *layer = (struct etx_block_layer){
        .n_in = n_in,
        .n_out = n_out,
        .in_row = ETX_ISA_NAME(scratch_row)(n_in),
        .out_row = ETX_ISA_NAME(scratch_row)(n_out),
        .norm = from->norm,
        .norm_last = from->norm_last,
        .activation = from->activation,
        .has_mean =
            from->norm == ETX_NORM_LAYER &&
            (from->norm_last || (n_added > 0 && !added_is_centred)),
        .eps = from->eps,
    };
    ETX_CHECK(centre(&weight, &bias, stream, from));
    ETX_CHECK(copy_padded(&layer->start, stream, bias, n_out));
    if (from->norm == ETX_NORM_LAYER) {
        ETX_CHECK(copy_padded(&layer->gain, stream, from->gain, n_out));
        ETX_CHECK(copy_padded(&layer->shift, stream, from->shift, n_out));
    }
    if (n_out == 1 && n_added == 0) {
        ETX_CHECK(copy_padded(&layer->row, stream, weight, n_in));
    } else {
        ETX_CHECK(etx_arena_take(&packed, stream->arena,
            etx_packed_size(n_in, n_out), sizeof *packed, "packed weights"));
        ETX_ISA_NAME(gemm_pack)(packed, n_in, n_out, weight, 1, n_in);
        layer->forward = packed;
    }
    if (backward) {
        ETX_CHECK(etx_arena_take(&packed, stream->arena,
            etx_packed_size(n_out, n_in), sizeof *packed, "packed weights"));
        ETX_ISA_NAME(gemm_pack)(packed, n_out, n_in, from->weight, n_in, 1);
        layer->backward = packed;
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(pack_layers)(struct etx_block_layer *layer,
    struct etx_stream *stream, const struct etx_mlp_args *args,
    int32_t backward)
{
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < args->n_layers; l++)
        ETX_CHECK(pack_layer(&layer[l], stream, &args->layer[l],
            l == 0 ? args->n_added : 0, args->added_is_centred, backward));
done:
    return status;
}

/* ------------------------------------------------------------- folding -- */

/* Sums in float64, so that folding shows no more than rounding does. */
static etx_status multiply_linears(struct etx_layer *first,
    struct etx_stream *stream, const struct etx_layer *second)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int32_t n_in = first->n_in;
    const int32_t n_middle = first->n_out;
    const int32_t n_out = second->n_out;
    struct etx_layer made = *second;
    float *weight = NULL;
    float *bias = NULL;
    double *row = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_take(&weight, stream->arena, (int64_t)n_out * n_in,
        sizeof *weight, "a folded weight"));
    ETX_CHECK(etx_arena_take(
        &bias, stream->arena, n_out, sizeof *bias, "a folded bias"));
    ETX_CHECK(etx_arena_take(&row, stream->arena, (int64_t)n_in + 1,
        sizeof *row, "a row of a folded weight"));
    for (int32_t o = 0; o < n_out; o++) {
        for (int32_t k = 0; k < n_in; k++)
            row[k] = 0.0;
        row[n_in] = second->bias != NULL ? (double)second->bias[o] : 0.0;
        for (int32_t m = 0; m < n_middle; m++) {
            const double w =
                (double)second->weight[(int64_t)o * n_middle + m];
            const float *from = first->weight + (int64_t)m * n_in;
            for (int32_t k = 0; k < n_in; k++)
                row[k] += w * (double)from[k];
            if (first->bias != NULL)
                row[n_in] += w * (double)first->bias[m];
        }
        for (int32_t k = 0; k < n_in; k++)
            weight[(int64_t)o * n_in + k] = (float)row[k];
        bias[o] = (float)row[n_in];
    }
    made.n_in = n_in;
    made.weight = weight;
    made.bias = bias;
    *first = made;
done:
    if (status != ETX_OK)
        etx_arena_reset(stream->arena, mark);
    return status;
}

static int32_t can_fold(
    const struct etx_layer *first, const struct etx_layer *second)
{
    const int64_t n_in = first->n_in;
    const int64_t n_middle = first->n_out;
    const int64_t n_out = second->n_out;

    return first->norm == ETX_NORM_NONE &&
           first->activation == ETX_ACTIVATION_NONE &&
           n_in * n_out < n_in * n_middle + n_middle * n_out;
}

/* Linears that follow each other with nothing between become one where that
 * is less work. */
etx_status ETX_ISA_NAME(mlp_prepare)(
    struct etx_stream *stream, const struct etx_mlp_prepare_args *args)
{
    const struct etx_mlp_args *forward = args->forward;
    /* Rows are added to the first linear as it is. */
    const int32_t n_fixed = forward->n_added > 0 ? 1 : 0;
    int32_t n = 0;
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < forward->n_layers; l++) {
        const struct etx_layer next = forward->layer[l];
        if (n > n_fixed && can_fold(&args->layer[n - 1], &next))
            ETX_CHECK(multiply_linears(&args->layer[n - 1], stream, &next));
        else
            args->layer[n++] = next;
    }
    *args->n_layers = n;
done:
    return status;
}
