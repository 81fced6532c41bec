/* cuda/backend/gemm.h -- products of matrices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_GEMM_H
#define ETX_CUDA_BACKEND_GEMM_H

#include "cuda/backend/device.cuh"

/* c [m, n] = a b, or c += a b; row-major. */
struct etx_cuda_gemm {
    int64_t m, n, k;
    const void *a; /* [m, k], or [k, m] when a_is_transposed */
    const void *b; /* [k, n], or [n, k] when b_is_transposed */
    void *c;       /* [m, n] */
    int32_t a_is_transposed, b_is_transposed;
    int32_t add;       /* 1: c += */
    int32_t is_half;   /* 1: a and b are float16, else float32 */
    int32_t c_is_half; /* 1: so is c, rounded from the sums; needs is_half */
};

/* Sums in float32; operands in float32 are rounded to TF32 on a stream that
 * is_tf32 only. The same bits for the same sizes. */
etx_status etx_cuda_gemm(
    struct etx_stream *stream, const struct etx_cuda_gemm *gemm);

#endif
