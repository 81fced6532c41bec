/* arch/graph_convolution/network.h -- options and layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_GRAPH_CONVOLUTION_NETWORK_H
#define ETX_ARCH_GRAPH_CONVOLUTION_NETWORK_H

#include "arch/mlp_block.h"

struct etx_convolution {
    int32_t hidden;
    int32_t n_iterations;
    struct etx_widths encoder_hidden, decoder_hidden;
    struct etx_mlp_style style;
    int32_t has_encoder; /* 0: the convolutions begin at the features */
    int32_t residual;
    int32_t order; /* enum etx_edge_order */

    struct etx_mlp_block encoder, decoder;
    struct etx_mlp_blocks convolutions;
};

/* etx_arch.configure. */
etx_status etx_convolution_configure(
    struct etx_network *network, const struct etx_json *options);

/* Width of the latents before iteration k. */
int32_t etx_convolution_width(const struct etx_network *network, int32_t k);

#endif
