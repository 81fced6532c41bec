/* arch/edge_pooling/network.h -- options, layers and one run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_EDGE_POOLING_NETWORK_H
#define ETX_ARCH_EDGE_POOLING_NETWORK_H

#include "arch/inner_network.h"
#include "arch/mlp_block.h"

struct etx_pooling {
    struct etx_widths hidden; /* of the perceptron */
    struct etx_mlp_style style;
    int32_t order;      /* enum etx_edge_order */
    float contract_cut; /* edges of a higher score may be contracted */

    struct etx_mlp_block edges;
    struct etx_inner_network coarse; /* on the contracted graph */
};

/* etx_arch.configure and .release. */
etx_status etx_pooling_configure(
    struct etx_network *network, const json_t *options);
void etx_pooling_release(struct etx_network *network);

/* Columns of a cluster's features: means of its hits' and log of how many. */
int32_t etx_pooling_width(const struct etx_network *network);

/* One run over one graph. Arrays lie in the arena. */
struct etx_pooling_run {
    const struct etx_network *network;
    const struct etx_pooling *state;
    struct etx_context *context;
    const struct etx_network_input *input;
    struct etx_network coarse; /* with its values */

    int64_t n_clusters;
    int32_t *cluster;        /* [n_nodes] of every hit */
    int32_t *coarse_edge;    /* [n_edges] -1 inside a cluster */
    float *pooled;           /* [n_clusters, etx_pooling_width] */
    struct etx_graph *graph; /* of the clusters, owned */
};

/* Contract the graph. Always close. */
etx_status etx_pooling_open(struct etx_pooling_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input);
void etx_pooling_close(struct etx_pooling_run *run);

/* What the network of clusters reads. */
struct etx_network_input etx_pooling_input(const struct etx_pooling_run *run);

/* The input of the edge network; features [n_edges, n] or NULL, in the
 * arena. */
etx_status etx_pooling_edge_parts(
    struct etx_mlp_input *out, const struct etx_pooling_run *run);

/* etx_arch.backward. */
etx_status etx_pooling_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

#endif
