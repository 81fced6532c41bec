/* op/simd/mlp_block.h -- the layers of a perceptron over one block of rows.
 *
 * Shared by mlp and mlp_backward: packed weights, gathered rows of a block, and
 * one layer applied to them. A row of scratch is whole vectors:
 *
 *     x[r]  | part 0 (width 3) | part 1 (width 6) | padding, finite, unused |
 *           |<---------------- in_row, see scratch_row() ------------------>|
 *
 * A layer norm that follows the linear directly needs no mean: the packed
 * weights are centred over the outputs, so the mean of every row is zero
 * (unless rows that are not centred are added).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_MLP_BLOCK_H
#define ETX_OP_SIMD_MLP_BLOCK_H

#include "op/op.h"
#include "op/simd/gemm.h"
#include "op/simd/isa.h"

/* Rows of a block at most. */
#define ETX_BLOCK_ROWS 192

/* A layer with packed weights. */
struct etx_block_layer {
    int32_t n_in, n_out;
    int32_t in_row;  /* floats from one row of the input to the next */
    int32_t out_row; /* the same of the output */
    int32_t norm, norm_last, activation;
    int32_t has_mean; /* 0: rows have mean 0 before the norm already */
    float eps;
    const struct etx_gemm *gemm; /* the product of forward */
    const float *forward;        /* W^T packed for it */
    const float *start;          /* bias [padded n_out] */
    const float *gain;           /* [padded n_out] or NULL: ones */
    const float *shift;          /* [padded n_out] or NULL: zeros */
    const float *backward;       /* W packed, or NULL */
    const float *row;            /* the only row of W [padded n_in], or NULL */
};

/* Values of the forward of a layer that its backward reads; NULL: not saved. */
struct etx_block_saved {
    float *normed; /* [rows, out_row] after the norm, before gain and shift */
    float *slope;  /* [rows, out_row] of the activation */
    float *rstd;   /* [rows] what the norm multiplied with */
    float *projection; /* [rows] factor of the projection on normed that the
                        * backward subtracts: 1 / n_out (LAYER), 1 (L2) or 0
                        * (L2 below eps) */
};

/* Floats from one row of scratch to the next: whole vectors, and an odd
 * number of cache lines where a power of two would share cache sets. */
int32_t ETX_ISA_NAME(scratch_row)(int32_t width);

/* 1 when some layer normalises over the rows of the batch. */
int32_t ETX_ISA_NAME(has_batch_norm)(const struct etx_mlp_args *args);

/* Fill layer [args->n_layers] with packed copies, in the weight cache or in the
 * arena; with `backward` nonzero W is packed too. */
etx_status ETX_ISA_NAME(pack_layers)(struct etx_block_layer *layer,
    struct etx_stream *stream, const struct etx_mlp_args *args,
    int32_t backward);

/* Rows of a matrix. */
struct etx_block_rows {
    const float *data;
    int32_t row; /* floats from one to the next */
};

/* The input of the first layer for rows first ..: in place where one part
 * holds them as the kernels read them, else gathered into x [n_rows, in_row].
 * whole_vectors: they are read a vector at a time. */
struct etx_block_rows ETX_ISA_NAME(block_input)(float *x,
    const struct etx_block_layer *layer, const struct etx_mlp_args *args,
    int64_t first, int32_t n_rows, int32_t whole_vectors);

/* What is added to a layer's linear, row by row. */
struct etx_block_terms {
    int32_t n;
    struct etx_rows rows[ETX_MAX_ADDED + 1]; /* from the block's first row */
};

/* The terms of layer l for rows first ..: those added to the first layer, and
 * the residual where residual is not NULL. */
struct etx_block_terms ETX_ISA_NAME(block_terms)(
    const struct etx_mlp_args *args, int32_t l, const float *residual,
    int64_t first);

/* y [n_rows, y_row] = the linear of layer(x) with the terms added; y_row is
 * out_row unless the layer is bare. pairs: scratch for x rounded, where the
 * layer computes so. */
void ETX_ISA_NAME(apply_linear)(float *y, int32_t y_row,
    const struct etx_block_layer *layer, struct etx_block_rows x,
    const struct etx_block_terms *terms, int32_t n_rows, float *pairs);

/* y [n_rows, out_row]: in the linear of a layer, out norm and activation of
 * that; saved may be NULL. */
void ETX_ISA_NAME(finish_layer)(float *y, const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, int32_t n_rows);

/* Nothing follows the linear. */
static inline int32_t etx_is_bare(const struct etx_block_layer *layer)
{
    return layer->norm == ETX_NORM_NONE &&
           layer->activation == ETX_ACTIVATION_NONE;
}

/* Rows first .. of the linears of layer l in args->linear [n_out per row]. */
static inline float *etx_linear_rows(
    const struct etx_mlp_args *args, int32_t l, int64_t first)
{
    const int64_t before = etx_mlp_linear_width(args->layer, l);

    return args->linear + args->n_rows * before + first * args->layer[l].n_out;
}

#endif
