/* arch/mlp_block.h -- the multi-layer perceptron inside every network.
 *
 * Describes layers by options, declares their parameters and fills the
 * argument structs of the mlp operators.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_MLP_BLOCK_H
#define ETX_ARCH_MLP_BLOCK_H

#include "arch/arch.h"

/* How the layers of a block look: hidden layers are linear, norm and
 * activation; the last is bare unless it asks for more. */
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

/* Offsets of a layer's parameters; -1 where it has none. */
struct etx_mlp_layer_offsets {
    int64_t weight, bias, gain, shift;
    struct etx_layer shape; /* sizes and kinds; pointers NULL */
};

struct etx_mlp_block {
    int32_t n_layers;
    struct etx_mlp_layer_offsets layer[ETX_MAX_LAYERS];
};

/* Layers n_in -> width[0] -> ... -> width[n_layers - 1]; parameters are named
 * PREFIX.K.weight, .bias, .gain, .shift for layer K. */
etx_status etx_mlp_block_declare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_layers, const int32_t *width, const struct etx_mlp_style *style);

/* Point layer [block->n_layers] at values (the network's flat parameters). */
void etx_mlp_block_layers(struct etx_layer *layer,
    const struct etx_mlp_block *block, const float *values);

/* The same for a flat gradient. */
void etx_mlp_block_gradients(struct etx_layer_gradient *gradient,
    const struct etx_mlp_block *block, float *gradients);

/* The layers of a block made ready for many calls of ops->mlp. */
struct etx_mlp_layers {
    int32_t n_layers;
    struct etx_layer layer[ETX_MAX_LAYERS];
};

/* Valid until the arena goes back to where it was and values change. */
etx_status etx_mlp_block_prepare(struct etx_mlp_layers *out,
    struct etx_context *context, const struct etx_mlp_block *block,
    const float *values);

/* Append the layers of tail, so that both run as one block. Together they
 * have at most ETX_MAX_LAYERS layers. */
void etx_mlp_block_append(
    struct etx_mlp_block *block, const struct etx_mlp_block *tail);

/* One end of every edge and the edges at each node: index[order[t]] = r for
 * t = offset[r] .. offset[r + 1] - 1; order NULL: t itself. */
struct etx_edge_end {
    const int32_t *index; /* [n_rows], or NULL: rows as they lie */
    int64_t n_nodes;
    const int64_t *offset; /* [n_nodes + 1]; NULL: nodes are not known */
    const int32_t *order;  /* [n_rows] or NULL */
    int32_t is_dense;      /* 1: the whole graph has more edges than nodes */
};

/* What a block runs on: rows, parts, residual and out of the operator, and
 * which parts are taken by an end of the edges. */
struct etx_mlp_input {
    struct etx_mlp_args args; /* its layers are set by the block */
    struct etx_edge_end end[ETX_MAX_PARTS];
};

/* Append a part of width columns, unless width is 0; end NULL: rows as they
 * lie. */
void etx_mlp_part(struct etx_mlp_input *input, const float *data,
    const struct etx_edge_end *end, int32_t width);

/* Run the block: see etx_mlp_args. */
etx_status etx_mlp_block_forward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values,
    const struct etx_mlp_input *input);

/* The same backward: gradients flat and added to. d_part [n_parts] or NULL:
 * the gradient of a part's data or NULL, overwritten: [n_rows, width], of a
 * part taken by an end (with n_nodes) [n_nodes, width]. */
etx_status etx_mlp_block_backward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values, float *gradients,
    const struct etx_mlp_input *input, const float *d_out,
    float *const *d_part);

#endif
