/* arch/inner_network.h -- an interaction network that works inside another.
 *
 * For families that make a second graph of the one they are given and score
 * its edges, too. The inner network's parameters follow those of the outer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_INNER_NETWORK_H
#define ETX_ARCH_INNER_NETWORK_H

#include "arch/arch.h"

struct etx_inner_network {
    struct etx_network network; /* value is NULL */
    int64_t offset;             /* of its parameters in those of the outer */
};

/* For the outer's configure: the inner network, with options as JSON or NULL,
 * and its parameters among those of the outer, their names behind "key.".
 * Always release, also after an error. */
etx_status etx_inner_network_configure(struct etx_inner_network *inner,
    struct etx_network *outer, const char *key, int32_t n_node_features,
    const json_t *options);
void etx_inner_network_release(struct etx_inner_network *inner);

/* The inner network with its values, which are borrowed from the outer. */
struct etx_network etx_inner_network_view(
    const struct etx_inner_network *inner, const struct etx_network *outer);

#endif
