/* cuda/op/linear.cu -- y = x W^T + b, and its gradients.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/gemm.h"
#include "cuda/op/column_sums.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/product.h"

/* y = bias in every row, for the product to add to. */
__global__ static void bias_kernel(
    float *y, const float *bias, int64_t n_rows, int32_t width)
{
    for (int64_t t = etx_first_item(); t < n_rows * width; t += etx_item_step())
        y[t] = bias != NULL ? bias[t % width] : 0.0f;
}

etx_status etx_cuda_linear(
    struct etx_stream *stream, const struct etx_linear_args *args)
{
    struct etx_cuda_gemm gemm = {};

    if (args->n_rows == 0 || args->n_out == 0)
        return ETX_OK;
    ETX_TRY(etx_launch(stream, args->n_rows * args->n_out, bias_kernel, args->y,
        args->bias, args->n_rows, args->n_out));
    gemm.m = args->n_rows;
    gemm.n = args->n_out;
    gemm.k = args->n_in;
    gemm.a = args->x;
    gemm.b = args->weight;
    gemm.b_is_transposed = 1;
    gemm.c = args->y;
    gemm.add = 1;
    return args->n_in == 0 ? ETX_OK : etx_cuda_gemm(stream, &gemm);
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
