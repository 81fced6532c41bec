/* op/network.h -- arguments of perceptron, activation and segment operators.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_NETWORK_H
#define ETX_OP_NETWORK_H

#include "op/array.h"

/* X(identifier, name in configurations); CONTRIBUTING.md lists where a new one
 * has its formulas. */
#define ETX_ACTIVATIONS(X)                                                     \
    X(NONE, "none")                                                            \
    X(RELU, "relu")                                                            \
    X(SILU, "silu")                                                            \
    X(TANH, "tanh")                                                            \
    X(GELU, "gelu") /* x Phi(x), exact (erf) */                                \
    X(ELU, "elu")   /* alpha 1 */                                              \
    X(SIGMOID, "sigmoid")

#define ETX_ACTIVATION_ID(id, name) ETX_ACTIVATION_##id,
enum etx_activation { ETX_ACTIVATIONS(ETX_ACTIVATION_ID) ETX_N_ACTIVATIONS };

enum etx_norm {
    ETX_NORM_NONE,
    ETX_NORM_LAYER, /* of a row: (x - mean) / sqrt(var + eps) * gain + shift */
    ETX_NORM_BATCH, /* the same of a column over all rows; no running mean */
    ETX_NORM_L2,    /* of a row: x / max(|x|, eps); no gain or shift */
    ETX_N_NORMS
};

#define ETX_MAX_PARTS  12
#define ETX_MAX_ADDED  4
#define ETX_MAX_LAYERS 16

/* Rows of a matrix, gathered or in place: row i is data[index[i]] or data[i].
 * float16 arrays (base/float16.h) are for the reference and for streams with
 * is_half; in a backward, only added rows may be float16. */
struct etx_rows {
    const float *data;    /* [rows, width] */
    const int32_t *index; /* [n_rows] rows of data, or NULL: i */
    int32_t width;
    const uint16_t *half; /* float16 in place of data, or NULL */
};

/* One layer: y = x W^T + b, then norm and activation (or the other way). */
struct etx_layer {
    int32_t n_in, n_out;
    const float *weight; /* [n_out, n_in] */
    const float *bias;   /* [n_out] or NULL */
    const float *gain;   /* [n_out] or NULL: ones */
    const float *shift;  /* [n_out] or NULL: zeros */
    float eps;           /* of the norm */
    int32_t norm;        /* enum etx_norm */
    int32_t norm_last;   /* 0: norm, activation; 1: activation, norm */
    int32_t activation;  /* enum etx_activation */
};

/* Gradients of a layer, added to; NULL: not wanted. Two layers may share arrays
 * (a shared layer norm). */
struct etx_layer_gradient {
    float *weight; /* [n_out, n_in] */
    float *bias;   /* [n_out] */
    float *gain;   /* [n_out] */
    float *shift;  /* [n_out] */
};

/* With stream->is_bfloat16, does the linear of a layer round? A single output
 * and few inputs, as positions are, gain no time. */
static inline int32_t etx_layer_is_bfloat16(const struct etx_layer *layer)
{
    return layer->n_in >= 16 && layer->n_out > 1;
}

/* The same with stream->is_int16: scales of the rows of inputs cost more. */
static inline int32_t etx_layer_is_int16(const struct etx_layer *layer)
{
    return layer->n_in >= 16 && layer->n_out >= 96;
}

struct etx_segment_reduce_args;

/* mlp: a multi-layer perceptron over rows,
 *
 *     out[i] = layers(concat(part[0][i], part[1][i], ...)) + residual[i]
 *
 * A part is a block of columns of the input, gathered by an index (node latents
 * at the ends of edges) or not. Added rows are terms of the first linear, at
 * least of its width: products that many rows share are computed once per node
 * and gathered here (factorised first layer, arch/mlp_run.c). A part without
 * index may be out itself. With stream->is_half, inputs, weights and
 * activations between layers may be rounded to float16, 2^-11 relative each;
 * with stream->is_bfloat16, the inputs and weights of some linears are rounded
 * to bfloat16, 2^-9 relative each: see etx_layer_is_bfloat16; with
 * stream->is_int16 to int16, by half a 4095th of the largest input of the row:
 * see etx_layer_is_int16. */
struct etx_mlp_args {
    int64_t n_rows;
    int32_t n_parts;  /* 0 .. ETX_MAX_PARTS; widths add up to layer[0].n_in */
    int32_t n_added;  /* 0 .. ETX_MAX_ADDED */
    int32_t n_layers; /* 1 .. ETX_MAX_LAYERS */
    int32_t added_is_centred; /* 1: added rows have mean 0, up to rounding */
    struct etx_rows part[ETX_MAX_PARTS];
    /* width at least layer[0].n_out, the columns that are added */
    struct etx_rows added[ETX_MAX_ADDED];
    const struct etx_layer *layer; /* [n_layers] */
    const float *residual; /* [n_rows, n_out] or NULL; may be out itself */
    float *out;            /* [n_rows, n_out] of the last layer */
    /* Tape of the linears, layer after layer, [n_rows, n_out] each; NULL: none.
     * mlp may write it, and mlp_backward of the same table and inputs then
     * reads it instead of repeating the products, with the same bits. out is
     * the same up to rounding, and the same bits where no linear directly
     * follows another. */
    float *linear;
    /* float16 in place of residual and out, or NULL. */
    const uint16_t *half_residual;
    uint16_t *half_out;
    /* A segment_reduce whose x (or half) is out (or half_out), with the same
     * bits; fused by versions that do it while the rows are in cache. NULL:
     * none. */
    const struct etx_segment_reduce_args *reduce;
};

/* mlp_prepare: folds layers for many calls of mlp: layers that give the same
 * result up to rounding, but need less work per call (consecutive linears are
 * multiplied, weights before a layer norm are centred). Of forward, only the
 * layers and n_added are read. New arrays are in the arena or in the weight
 * cache. */
struct etx_mlp_prepare_args {
    const struct etx_mlp_args *forward;
    struct etx_layer *layer; /* [forward->n_layers], may be forward's own */
    int32_t *n_layers;       /* 1 .. forward->n_layers */
};

/* Floats of etx_mlp_args.linear per row. */
static inline int64_t etx_mlp_linear_width(
    const struct etx_layer *layer, int32_t n_layers)
{
    int64_t width = 0;

    for (int32_t l = 0; l < n_layers; l++)
        width += layer[l].n_out;
    return width;
}

/* Multiplications and additions of the linear layers of an mlp. */
static inline double etx_mlp_flop(const struct etx_mlp_args *args)
{
    double flop = 0.0;

    for (int32_t l = 0; l < args->n_layers; l++)
        flop += 2.0 * (double)args->layer[l].n_in * args->layer[l].n_out;
    return flop * (double)args->n_rows;
}

/* mlp_backward: gradients of the inputs and parameters from d_out. The forward
 * is recomputed block by block (no activations are stored); with a tape in
 * forward->linear, without its products. forward->out and ->residual are not
 * read; the gradient of the residual is d_out. */
struct etx_mlp_backward_args {
    const struct etx_mlp_args *forward;
    const float *d_out; /* [n_rows, n_out] */
    /* [n_rows, part[p].width] of the gathered rows, overwritten; or NULL. */
    float *d_part[ETX_MAX_PARTS];
    /* [n_rows, layer[0].n_out] of each added row, overwritten; or NULL. */
    float *d_added;
    const struct etx_layer_gradient *gradient; /* [n_layers] or NULL */
};

/* activation: y = f(x), element by element. Never raises a floating-point
 * exception other than inexact and underflow for finite x. Tolerance 4 ulp of
 * the result plus 2^-24. */
struct etx_activation_args {
    int64_t n;
    int32_t activation;  /* enum etx_activation */
    const float *x;      /* [n] */
    float *y;            /* [n]; may be x */
    int64_t *not_finite; /* [1] as find_not_finite of x, or NULL */
};

struct etx_activation_backward_args {
    int64_t n;
    int32_t activation;
    const float *x;   /* [n] the forward's input */
    const float *d_y; /* [n] */
    float *d_x;       /* [n], overwritten; may be d_y */
};

/* ------------------------------------------------------------ segments -- */

enum etx_reduce {
    ETX_REDUCE_SUM,
    ETX_REDUCE_MEAN, /* sum / max(count, 1) */
    ETX_REDUCE_MAX,  /* 0 for an empty segment */
    /* sqrt(sum (x - mean)^2 / (max(count - 1, 1) + 1e-6)): torch_scatter's */
    ETX_REDUCE_STD,
    ETX_N_REDUCES
};

/* segment_reduce: out[s] = reduction of weight[v] * x[gather[v]] over
 * v = order[offset[s]], ..., order[offset[s + 1] - 1]. Sums are in float32, in
 * this order. */
struct etx_segment_reduce_args {
    int64_t n_segments;
    int32_t width;
    int32_t reduce;        /* enum etx_reduce */
    int32_t add;           /* 1: out += (SUM only) */
    const int64_t *offset; /* [n_segments + 1] */
    const int32_t *order;  /* [n_values] or NULL: identity */
    /* [n_values] the segment of each v, if order ascends in each segment, or
     * NULL. */
    const int32_t *segment;
    const int32_t *gather; /* [n_values] rows of x, or NULL: v */
    const float *weight;   /* [n_values] or NULL (SUM only) */
    const float *x;        /* [rows, width] */
    float *out;            /* [n_segments, width] */
    const uint16_t *half;  /* float16 in place of x, as in etx_rows, or NULL */
    /* Another, of these or other arrays, after this one; or NULL. */
    const struct etx_segment_reduce_args *next;
};

/* segment_reduce_backward: d_x from d_out. forward.weight and gather are NULL
 * (their gradients are a segment_reduce over the other order and a row_dot).
 * The gradient of MAX goes to the first of equal values in segment order; that
 * of STD is 0 where the deviation is 0. */
struct etx_segment_reduce_backward_args {
    struct etx_segment_reduce_args forward; /* out is read for MAX, STD */
    const float *d_out;                     /* [n_segments, width] */
    float *d_x;                             /* [n_values, width] */
    int32_t add; /* 1: d_x += ; 0: every v of a segment overwritten */
};

/* X(name) for every operator of this header. */
#define ETX_NETWORK_OPERATORS(X)                                               \
    X(mlp)                                                                     \
    X(mlp_backward)                                                            \
    X(activation)                                                              \
    X(activation_backward)                                                     \
    X(segment_reduce)                                                          \
    X(segment_reduce_backward)

#endif
