/* arch/gravnet/network.h -- options, layers and one run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_GRAVNET_NETWORK_H
#define ETX_ARCH_GRAVNET_NETWORK_H

#include "arch/mlp_block.h"

#define ETX_GRAVNET_MAX_ITERATIONS 16

/* The networks of one iteration. */
struct etx_gravnet_step {
    struct etx_mlp_block space;  /* h -> place among the neighbours */
    struct etx_mlp_block flow;   /* h -> what neighbours are told */
    struct etx_mlp_block update; /* concat[h, m] -> added to h */
};

struct etx_gravnet {
    int32_t hidden, n_iterations, n_space, n_flow, n_neighbours, n_out;
    struct etx_mlp_style style;
    struct etx_mlp_block encoder, output;
    struct etx_gravnet_step step[ETX_GRAVNET_MAX_ITERATIONS];
};

/* etx_arch.configure. */
etx_status etx_gravnet_configure(
    struct etx_network *network, const json_t *options);

/* One run over the hits of an event. Arrays lie in the arena. */
struct etx_gravnet_run {
    const struct etx_network *network;
    const struct etx_gravnet *state;
    struct etx_context *context;
    const struct etx_network_input *input;
    int64_t n;      /* hits */
    float *latents; /* [n_iterations + 1, n, hidden] */
};

float *etx_gravnet_latent(const struct etx_gravnet_run *run, int32_t k);

/* What flows in one iteration. */
struct etx_gravnet_messages {
    float *point;            /* [n, n_space] */
    float *told;             /* [n, n_flow] */
    struct etx_graph *graph; /* owned: from a hit to each of its neighbours */
    float *weight;           /* [graph->n_edges] */
    float *message;          /* [n, n_flow] */
};

/* From the latents h [n, hidden] of an iteration. Always release. */
etx_status etx_gravnet_messages_make(struct etx_gravnet_messages *out,
    const struct etx_gravnet_run *run, const struct etx_gravnet_step *step,
    const float *h);
void etx_gravnet_messages_release(struct etx_gravnet_messages *messages);

/* From d_message [n, n_flow]: d_place [n, n_space] and d_told [n, n_flow],
 * overwritten. */
etx_status etx_gravnet_messages_backward(float *d_place, float *d_told,
    const struct etx_gravnet_run *run,
    const struct etx_gravnet_messages *messages, const float *d_message);

/* Inputs of the blocks. */
void etx_gravnet_parts(
    struct etx_mlp_input *out, int64_t n, const float *h, int32_t width);
void etx_gravnet_update_parts(struct etx_mlp_input *out,
    const struct etx_gravnet_run *run, const float *h, const float *message);

/* etx_arch.backward. */
etx_status etx_gravnet_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

#endif
