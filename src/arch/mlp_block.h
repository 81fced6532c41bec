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
    int32_t activation;      /* of hidden layers, enum etx_activation */
    int32_t norm;            /* of hidden layers, enum etx_norm */
    int32_t norm_affine;     /* 1: norms have gain and shift */
    int32_t norm_last;       /* 1: activation before norm */
    float norm_eps;
    int32_t last_activation; /* of the last layer */
    int32_t last_norm;       /* of the last layer, enum etx_norm; L2 comes
                                after the activation */
};

/* Offsets of a layer's parameters; -1 where it has none. */
struct etx_mlp_layer_place {
    int64_t weight, bias, gain, shift;
    struct etx_layer shape; /* sizes and kinds; pointers NULL */
};

struct etx_mlp_block {
    int32_t n_layers;
    struct etx_mlp_layer_place layer[ETX_MAX_LAYERS];
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

/* Append the layers of tail, so that both run as one block. Together they
 * have at most ETX_MAX_LAYERS layers. */
void etx_mlp_block_append(
    struct etx_mlp_block *block, const struct etx_mlp_block *tail);

/* Run the block. args says rows, parts, residual and out; its layers are set
 * here. */
etx_status etx_mlp_block_forward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values,
    struct etx_mlp_args *args);

/* The same backward, see etx_mlp_backward_args: args as for the forward,
 * gradients flat and added to, d_part [args->n_parts] or NULL. */
etx_status etx_mlp_block_backward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values, float *gradients,
    struct etx_mlp_args *args, const float *d_out, float *const *d_part);

/* Append a part of width columns, unless width is 0. */
void etx_mlp_part(struct etx_mlp_args *args, const float *data,
    const int32_t *index, int32_t width);

#endif
