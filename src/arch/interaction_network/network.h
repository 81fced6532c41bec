/* arch/interaction_network/network.h -- options and layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_INTERACTION_NETWORK_NETWORK_H
#define ETX_ARCH_INTERACTION_NETWORK_NETWORK_H

#include "arch/mlp_block.h"

#define ETX_INTERACTION_MAX_AGGREGATES 4

/* When the edges of an iteration are updated. */
enum etx_interaction_update {
    ETX_UPDATE_FIRST, /* before the nodes, which aggregate the new edges */
    ETX_UPDATE_OLD,   /* after the nodes, from their old latents */
    ETX_UPDATE_NEW    /* after the nodes, from their new latents */
};

/* Which edges of a node its messages come from. */
enum etx_interaction_at {
    ETX_AT_TARGET,     /* those into it */
    ETX_AT_BOTH,       /* in and out, concatenated */
    ETX_AT_BOTH_SUMMED /* in and out, added */
};

enum etx_interaction_direction {
    ETX_DIRECTED,           /* the edges as they are */
    ETX_DOUBLED_FIRST_HALF, /* both ways, the score of the edge as it is */
    ETX_DOUBLED_MEAN        /* both ways, the mean of the two logits */
};

struct etx_interaction {
    int32_t hidden;
    int32_t n_iterations;
    int32_t encoder_layers, edge_encoder_layers;
    int32_t node_layers, edge_layers;
    int32_t decoder_layers, transform_layers;
    int32_t pt_layers; /* 0: no head */
    struct etx_mlp_style style;
    int32_t edge_update; /* enum etx_interaction_update */
    int32_t n_aggregates;
    int32_t aggregate[ETX_INTERACTION_MAX_AGGREGATES]; /* enum etx_reduce */
    int32_t aggregate_at; /* enum etx_interaction_at */
    int32_t node_residual, edge_residual;
    int32_t concat_initial;
    int32_t edge_from_latents, edge_from_nodes, edge_from_features;
    int32_t decode_edge;    /* 1: the decoder reads the edge alone */
    int32_t edge_first;     /* 1: concat[e, x_first, x_second] */
    int32_t messages_first; /* 1: concat[messages, x] */
    int32_t order;          /* enum etx_edge_order */
    int32_t direction;      /* enum etx_interaction_direction */

    struct etx_mlp_block node_encoder, edge_encoder, decoder;
    struct etx_mlp_block pt_head; /* of pt_layers */
    struct etx_mlp_blocks node_networks, edge_networks;
};

/* etx_arch.configure. */
etx_status etx_interaction_configure(
    struct etx_network *network, const struct etx_json *options);

#endif
