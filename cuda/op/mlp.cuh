/* cuda/op/mlp.cuh -- what mlp, its versions and mlp_backward share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_MLP_CUH
#define ETX_CUDA_OP_MLP_CUH

#include "cuda/backend/device.cuh"
#include "cuda/backend/half.cuh"

/* Rows of several matrices, passed to a kernel by value. */
struct etx_cuda_rows {
    int32_t n;
    struct etx_rows rows[ETX_MAX_PARTS];
};

/* Row i of the matrix that rows are taken from. */
__device__ static inline int64_t etx_source_row(
    const struct etx_rows &rows, int64_t i)
{
    return rows.index != NULL ? rows.index[i] : i;
}

/* Element `at` of the matrix. */
__device__ static inline float etx_source_value(
    const struct etx_rows &rows, int64_t at)
{
    return rows.half != NULL ? etx_unhalf(rows.half[at]) : rows.data[at];
}

/* Where an mlp ends: residual and out, each in one of two types or NULL. */
struct etx_cuda_end {
    const float *residual;
    const uint16_t *half_residual;
    float *out;
    uint16_t *half_out;
};

/* out[at] = value + the residual there. */
__device__ static inline void etx_write_end(
    const struct etx_cuda_end &end, int64_t at, float value)
{
    if (end.residual != NULL)
        value += end.residual[at];
    if (end.half_residual != NULL)
        value += etx_unhalf(end.half_residual[at]);
    if (end.half_out != NULL)
        end.half_out[at] = etx_half(value);
    else
        end.out[at] = value;
}

/* The end of an mlp for the rows from first on. */
struct etx_cuda_end etx_cuda_mlp_end(
    const struct etx_mlp_args *args, int64_t first);

/* rows from first on of each of n. */
struct etx_cuda_rows etx_cuda_rows_from(
    const struct etx_rows *rows, int32_t n, int64_t first);

/* The widest of an input of this width and the layers. */
int32_t etx_cuda_mlp_widest(const struct etx_mlp_args *args, int32_t width);

/* Rows, each of row_bytes of scratch, of a block of at most `bytes`. */
int64_t etx_cuda_mlp_block(
    const struct etx_mlp_args *args, int64_t bytes, int64_t row_bytes);

/* x [n_rows, layer[0].n_in] = the parts of rows from first on, side by side. */
etx_status etx_cuda_mlp_concat(struct etx_stream *stream, float *x,
    const struct etx_mlp_args *args, int64_t first, int64_t n_rows);

/* y [n_rows, n_out] = the linear of layer l of x [n_rows, n_in], with bias and
 * with the rows added to the first layer. */
etx_status etx_cuda_mlp_linear(struct etx_stream *stream, float *y,
    const float *x, const struct etx_mlp_args *args, int32_t l, int64_t first,
    int64_t n_rows);

/* A norm and an activation that the fast kernels have code for. */
static inline int32_t etx_cuda_layer_is_common(const struct etx_layer *layer)
{
    return (layer->norm == ETX_NORM_NONE || layer->norm == ETX_NORM_LAYER) &&
           (layer->activation == ETX_ACTIVATION_NONE ||
               layer->activation == ETX_ACTIVATION_RELU ||
               layer->activation == ETX_ACTIVATION_SILU ||
               layer->activation == ETX_ACTIVATION_TANH);
}

/* mlp_fused.cu: all layers in one kernel on tensor cores, for layers narrow
 * enough to stay in registers and shared memory. */
int32_t etx_cuda_mlp_can_fuse(
    const struct etx_cuda *cuda, const struct etx_mlp_args *args);
etx_status etx_cuda_mlp_fused(
    struct etx_stream *stream, const struct etx_mlp_args *args);

#endif
