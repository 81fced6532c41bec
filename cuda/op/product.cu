/* cuda/op/product.cu -- products of float32 matrices in the stream's precision.
 *
 * In training what goes from operator to operator stays float32; the operands
 * of a product are rounded where it is made, and its sums are float32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/product.h"

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
