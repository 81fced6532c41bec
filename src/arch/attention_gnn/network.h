/* arch/attention_gnn/network.h -- options and layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_ATTENTION_GNN_NETWORK_H
#define ETX_ARCH_ATTENTION_GNN_NETWORK_H

#include "arch/mlp_block.h"

struct etx_attention {
    int32_t hidden;
    int32_t n_iterations;
    struct etx_widths encoder_hidden, edge_hidden, node_hidden;
    struct etx_mlp_style style;
    int32_t shortcut; /* 1: latents end with the input features */
    int32_t residual;
    int32_t messages_first; /* 1: concat[messages, h] */
    int32_t order;          /* enum etx_edge_order */
    struct etx_mlp_block encoder, edge_network, node_network;
};

/* etx_arch.configure. */
etx_status etx_attention_configure(
    struct etx_network *network, const struct etx_json *options);

#endif
