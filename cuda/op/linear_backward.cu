/* cuda/op/linear_backward.cu -- gradients of y = x W^T + b.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/layers.h"
#include "cuda/op/product.h"

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
