/* cuda/op/product.h -- products of float32 matrices in the stream's precision.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_PRODUCT_H
#define ETX_CUDA_OP_PRODUCT_H

#include "cuda/backend/gemm.h"

/* gemm, whose float32 a and b are rounded to float16 first on a stream that
 * is_half. */
etx_status etx_cuda_product(
    struct etx_stream *stream, const struct etx_cuda_gemm *gemm);

#endif
