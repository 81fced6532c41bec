/* cuda/op/mlp.cuh -- what mlp and mlp_backward share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_MLP_CUH
#define ETX_CUDA_OP_MLP_CUH

#include "cuda/backend/device.cuh"

/* Rows of several matrices, passed to a kernel by value. */
struct etx_cuda_rows {
    int32_t n;
    struct etx_rows rows[ETX_MAX_PARTS];
};

/* The widest of the input and the layers. */
int32_t etx_cuda_mlp_widest(const struct etx_mlp_args *args);

/* Rows of a block that takes row_bytes of scratch a row. */
int64_t etx_cuda_mlp_block(
    const struct etx_mlp_args *args, int64_t row_bytes);

/* x [n_rows, layer[0].n_in] = the parts of rows from first on, side by side. */
etx_status etx_cuda_mlp_concat(struct etx_stream *stream, float *x,
    const struct etx_mlp_args *args, int64_t first, int64_t n_rows);

/* y [n_rows, n_out] = the linear of layer l of x [n_rows, n_in], with bias and
 * with the rows added to the first layer. */
etx_status etx_cuda_mlp_linear(struct etx_stream *stream, float *y,
    const float *x, const struct etx_mlp_args *args, int32_t l, int64_t first,
    int64_t n_rows);

#endif
