/* arch/mlp_block.h -- the multi-layer perceptron inside every network.
 *
 * Describes layers by options, declares their parameters and fills the
 * argument structs of the mlp operators.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_MLP_BLOCK_H
#define ETX_ARCH_MLP_BLOCK_H

#include "arch/arch.h"
#include "arch/options.h"

/* The layers of a block: hidden layers are linear, norm and
 * activation; the last is bare unless options below say otherwise. */
struct etx_mlp_style {
    int32_t activation;  /* of hidden layers, enum etx_activation */
    int32_t norm;        /* of hidden layers, enum etx_norm */
    int32_t norm_affine; /* 1: norms have gain and shift */
    int32_t norm_last;   /* 1: activation before norm */
    float norm_eps;
    int32_t last_activation; /* of the last layer */
    int32_t last_norm;       /* of the last layer, enum etx_norm; L2 comes
                                after the activation */
};

/* Layer norm with gain and shift, this activation, a bare last layer. */
struct etx_mlp_style etx_mlp_style_default(enum etx_activation activation);

/* The same with norm and activation after the last layer, too. */
struct etx_mlp_style etx_mlp_style_to_last(const struct etx_mlp_style *style);

/* The options of a style, in this order: activation, norm, norm_affine,
 * norm_last, norm_eps, last_activation, last_norm. A network takes the first
 * n: table [n], which the returned entry of its own table refers to. */
enum {
    ETX_STYLE_ACTIVATION_NORM = 2,
    ETX_STYLE_HIDDEN = 5,
    ETX_STYLE_LAST_ACTIVATION = 6,
    ETX_STYLE_ALL = 7
};
struct etx_option etx_option_style(
    struct etx_option *table, struct etx_mlp_style *style, int32_t n);

/* Widths of hidden layers, and the option with this key that lists them. */
struct etx_widths {
    int32_t n;
    int32_t width[ETX_MAX_LAYERS - 1];
};
struct etx_option etx_option_widths(
    const char *key, struct etx_widths *widths, int32_t max);

/* Offsets of a layer's parameters; -1 where it has none. */
struct etx_mlp_layer_offsets {
    int64_t weight, bias, gain, shift;
    struct etx_layer shape; /* sizes and kinds; pointers NULL */
};

struct etx_mlp_block {
    int32_t n_layers;
    struct etx_mlp_layer_offsets layer[ETX_MAX_LAYERS];
};

/* etx_network.needs_whole of a network with a batch norm. */
extern const char etx_batch_norm_needs_whole[];

/* Layers n_in -> hidden widths (NULL: none) -> n_out; parameters are named
 * PREFIX.K.weight, .bias, .gain, .shift for layer K. */
etx_status etx_mlp_block_declare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    const struct etx_widths *hidden, int32_t n_out,
    const struct etx_mlp_style *style);

/* The block of every iteration, or one for all of them. */
struct etx_mlp_blocks {
    int32_t is_recurrent;
    struct etx_mlp_block *block; /* [n_iterations], 1 when recurrent */
};

/* The first has n_in_first columns, the others n_in. Names are PREFIX.I.K.*
 * for iteration I, PREFIX.K.* when recurrent. The network owns them. */
etx_status etx_mlp_blocks_declare(struct etx_mlp_blocks *blocks,
    struct etx_network *network, const char *prefix, int32_t n_iterations,
    int32_t n_in_first, int32_t n_in, const struct etx_widths *hidden,
    int32_t n_out, const struct etx_mlp_style *style);
const struct etx_mlp_block *etx_mlp_blocks_at(
    const struct etx_mlp_blocks *blocks, int32_t k);

/* Point layer [block->n_layers] at values (the network's flat parameters). */
void etx_mlp_block_layers(struct etx_layer *layer,
    const struct etx_mlp_block *block, const float *values);

/* The same for a flat gradient. */
void etx_mlp_block_gradients(struct etx_layer_gradient *gradient,
    const struct etx_mlp_block *block, float *gradients);

/* The layers of a block folded for many calls of ops->mlp. */
struct etx_mlp_layers {
    int32_t n_layers;
    struct etx_layer layer[ETX_MAX_LAYERS];
};

/* Valid until the arena is reset or values change. */
etx_status etx_mlp_block_fold(struct etx_mlp_layers *out,
    struct etx_context *context, const struct etx_mlp_block *block,
    const float *values);

/* Append the layers of tail, so that both run as one block. Together they
 * have at most ETX_MAX_LAYERS layers. */
void etx_mlp_block_append(
    struct etx_mlp_block *block, const struct etx_mlp_block *tail);

/* One end of every edge and the edges at each node: index[order[t]] = r for
 * t = offset[r] .. offset[r + 1] - 1; order NULL: t itself. */
struct etx_edge_end {
    const int32_t *index; /* [n_rows], or NULL: row r of the data is row r */
    int64_t n_nodes;
    const int64_t *offset; /* [n_nodes + 1]; NULL: edges at nodes not known */
    const int32_t *order;  /* [n_rows] or NULL */
    int32_t is_dense;      /* 1: the whole graph has more edges than nodes */
};

/* A gradient as a sum of terms; the first term overwrites data. */
struct etx_sum {
    float *data; /* [n] */
    int64_t n;
    int32_t is_started; /* 0: data is not set yet */
};

/* A sum of n values in the arena, not started; and its next term [n]. */
etx_status etx_sum_alloc(struct etx_sum *sum, struct etx_context *context,
    int64_t n, const char *what);
etx_status etx_sum_add(
    struct etx_sum *sum, struct etx_context *context, const float *term);

/* What a block runs on: rows, parts, residual and out of the operator; the end
 * of the edges that gathers a part; the sum that its gradient is added to. */
struct etx_mlp_input {
    struct etx_mlp_args args; /* its layers are set by the block */
    struct etx_edge_end end[ETX_MAX_PARTS];
    struct etx_sum *sum[ETX_MAX_PARTS]; /* backward; NULL: no gradient */
};

/* Append a part of width columns, unless width is 0: data [n_rows, width], or
 * with an end [n_nodes, width]. Its sum has as many values as data, or is
 * NULL. */
void etx_mlp_append(struct etx_mlp_input *input, const float *data,
    const struct etx_edge_end *end, int32_t width);
void etx_mlp_append_with_sum(struct etx_mlp_input *input, const float *data,
    const struct etx_edge_end *end, int32_t width, struct etx_sum *sum);

/* Run the block: see etx_mlp_args. */
etx_status etx_mlp_block_forward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values,
    const struct etx_mlp_input *input);

/* The same backward: the flat gradients of the parameters and the sums of the
 * parts are added to. d_out may be the data of a sum. */
etx_status etx_mlp_block_backward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values, float *gradients,
    const struct etx_mlp_input *input, const float *d_out);
#endif
