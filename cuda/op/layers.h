/* cuda/op/layers.h -- the steps of mlp and mlp_backward, and their products.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_LAYERS_H
#define ETX_CUDA_OP_LAYERS_H

#include "cuda/backend/gemm.h"

extern "C" {
#include "op/op.h"
#include "op/shared/layers.h"
}

ETX_OPERATOR_PROTOTYPE(linear_backward, etx_cuda_linear_backward)
ETX_OPERATOR_PROTOTYPE(norm, etx_cuda_norm)
ETX_OPERATOR_PROTOTYPE(norm_backward, etx_cuda_norm_backward)

/* product.cu: gemm, whose float32 a and b are rounded to float16 first on a
 * stream that is_half. */
etx_status etx_cuda_product(
    struct etx_stream *stream, const struct etx_cuda_gemm *gemm);

#endif
