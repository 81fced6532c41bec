/* arch/edge_pooling/network.h -- options, and the contracted graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_EDGE_POOLING_NETWORK_H
#define ETX_ARCH_EDGE_POOLING_NETWORK_H

#include "arch/nested.h"

struct etx_pooling {
    struct etx_nested nested;
    float contract_cut; /* edges of a higher score may be contracted */
};

/* Columns of a cluster's features: means of its hits' and log of how many. */
static inline int32_t etx_pooling_width(const struct etx_network *network)
{
    return network->n_node_features + 1;
}

/* etx_nested_steps.build: the graph of the clusters; run->inner_edge is -1
 * for edges inside a cluster. */
etx_status etx_pooling_contract(struct etx_nested_run *run);

#endif
