/* cuda/op/product.cu -- products of float32 matrices in the stream's precision,
 * and the gradients of y = x W^T + b.
 *
 * In training what goes from operator to operator stays float32; the operands
 * of a product are rounded where it is made, and its sums are float32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/layers.h"
#include "cuda/op/operators.h"

static etx_status round_matrix(const void **matrix, struct etx_stream *stream,
    int64_t n, struct etx_cuda_scratch *scratch)
{
    uint16_t *half = NULL;

    ETX_TRY(scratch->alloc(&half, n, "matrix as float16"));
    const struct etx_narrow_args args = {
        n, ETX_HALF_FLOAT16, static_cast<const float *>(*matrix), half};

    *matrix = half;
    return etx_cuda_narrow(stream, &args);
}

etx_status etx_cuda_product(
    struct etx_stream *stream, const struct etx_cuda_gemm *gemm)
{
    struct etx_cuda_scratch scratch(stream);
    struct etx_cuda_gemm rounded = *gemm;

    if (!stream->is_half || gemm->is_half)
        return etx_cuda_gemm(stream, gemm);
    rounded.is_half = 1;
    ETX_TRY(round_matrix(&rounded.a, stream, gemm->m * gemm->k, &scratch));
    ETX_TRY(round_matrix(&rounded.b, stream, gemm->k * gemm->n, &scratch));
    return etx_cuda_gemm(stream, &rounded);
}

/* d_x = d_y W. */
static etx_status input_gradient(
    struct etx_stream *stream, const struct etx_linear_backward_args *args)
{
    struct etx_cuda_gemm gemm = {};

    gemm.m = args->n_rows;
    gemm.n = args->n_in;
    gemm.k = args->n_out;
    gemm.a = args->d_y;
    gemm.b = args->weight;
    gemm.c = args->d_x;
    return etx_cuda_product(stream, &gemm);
}

/* d_W += d_y^T x. */
static etx_status weight_gradient(
    struct etx_stream *stream, const struct etx_linear_backward_args *args)
{
    struct etx_cuda_gemm gemm = {};

    gemm.m = args->n_out;
    gemm.n = args->n_in;
    gemm.k = args->n_rows;
    gemm.a = args->d_y;
    gemm.a_is_transposed = 1;
    gemm.b = args->x;
    gemm.c = args->d_weight;
    gemm.add = 1;
    return etx_cuda_product(stream, &gemm);
}

etx_status etx_cuda_linear_backward(
    struct etx_stream *stream, const struct etx_linear_backward_args *args)
{
    if (args->n_rows == 0 || args->n_out == 0)
        return ETX_OK;
    if (args->d_x != NULL && args->n_in > 0)
        ETX_TRY(input_gradient(stream, args));
    if (args->d_weight != NULL && args->n_in > 0)
        ETX_TRY(weight_gradient(stream, args));
    if (args->d_bias == NULL)
        return ETX_OK;
    return etx_add_column_sums(stream, args->d_bias, args->n_rows, args->n_out,
        etx_plain_term{args->d_y, args->n_out});
}
