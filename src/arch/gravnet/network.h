/* arch/gravnet/network.h -- options, layers and messages.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_GRAVNET_NETWORK_H
#define ETX_ARCH_GRAVNET_NETWORK_H

#include "arch/message_passing.h"

#define ETX_GRAVNET_MAX_ITERATIONS 16

/* The networks of one iteration. */
struct etx_gravnet_blocks {
    struct etx_mlp_block space;  /* h -> point in the space of neighbours */
    struct etx_mlp_block flow;   /* h -> what is sent to neighbours */
    struct etx_mlp_block update; /* concat[h, m] -> added to h */
};

struct etx_gravnet {
    int32_t hidden, n_iterations, n_space, n_flow, n_neighbours, n_out;
    struct etx_mlp_style style;
    struct etx_mlp_block encoder, output;
    struct etx_gravnet_blocks iteration[ETX_GRAVNET_MAX_ITERATIONS];
};

static inline const struct etx_gravnet *etx_gravnet_state(
    const struct etx_run *run)
{
    return run->network->state;
}

/* etx_arch.configure. */
etx_status etx_gravnet_configure(
    struct etx_network *network, const struct etx_json *options);

/* Messages of one iteration; arrays lie in the arena. */
struct etx_gravnet_messages {
    float *point;            /* [n, n_space] */
    float *flow;             /* [n, n_flow] */
    struct etx_graph *graph; /* owned: from a hit to each of its neighbours */
    float *weight;           /* [graph->n_edges] */
    float *message;          /* [n, n_flow] */
    struct etx_sum d_message;
};

/* From the points and flows of the hits. Always free. */
etx_status etx_gravnet_send(
    struct etx_gravnet_messages *messages, const struct etx_run *run);
void etx_gravnet_messages_free(struct etx_gravnet_messages *messages);

/* From d_message: d_point [n, n_space] and d_flow [n, n_flow], overwritten. */
etx_status etx_gravnet_send_backward(float *d_point, float *d_flow,
    const struct etx_run *run, const struct etx_gravnet_messages *messages);

#endif
