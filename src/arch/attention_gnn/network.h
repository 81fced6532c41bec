/* arch/attention_gnn/network.h -- options, layers and one run.
 *
 * The latent of a node is concat[u, s]: u [hidden] is learnt, s is the input
 * features that every iteration adds once more (the input shortcut). The two
 * are kept apart, so that no concatenation is ever made in memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_ATTENTION_GNN_NETWORK_H
#define ETX_ARCH_ATTENTION_GNN_NETWORK_H

#include "arch/mlp_block.h"

struct etx_attention {
    int32_t hidden;
    int32_t n_iterations;
    int32_t n_encoder, n_edge, n_node; /* hidden layers of the blocks */
    int32_t encoder_width[ETX_MAX_LAYERS];
    int32_t edge_width[ETX_MAX_LAYERS];
    int32_t node_width[ETX_MAX_LAYERS];
    struct etx_mlp_style style;
    int32_t shortcut; /* 1: latents end with the input features */
    int32_t residual;
    int32_t messages_first; /* 1: concat[messages, h] */
    int32_t order;          /* enum etx_edge_order */
    struct etx_mlp_block encoder, edge_network, node_network;
};

/* etx_arch.configure. */
etx_status etx_attention_configure(
    struct etx_network *network, const json_t *options);

/* One run over one graph; n_slots latents lie one after the other, each u
 * [n_nodes, hidden], s [n_nodes, n_short] and logits [n_edges]. */
struct etx_attention_run {
    const struct etx_network *network;
    const struct etx_attention *state;
    struct etx_context *context;
    const struct etx_network_input *input;
    int64_t n_nodes, n_edges;
    int32_t n_short; /* width of the shortcut, 0 without */
    int64_t n_slots;
    int64_t u_size, s_size, logit_size; /* floats, padded */
    float *latents;
};

struct etx_attention_run etx_attention_open(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    int32_t keep_all);

/* Latents before iteration k; unless all are kept, of k and k - 1. */
float *etx_attention_u(const struct etx_attention_run *run, int32_t k);
float *etx_attention_s(const struct etx_attention_run *run, int32_t k);
float *etx_attention_logit(const struct etx_attention_run *run, int32_t k);

/* What the messages of iteration k are: with the weights e = sigmoid(logit)
 * of the edges, sum e h[src] into dst plus sum e h[dst] into src. */
struct etx_attention_messages {
    float *weight; /* [n_edges] */
    float *u;      /* [n_nodes, hidden] */
    float *s;      /* [n_nodes, n_short] or NULL */
};

/* From the logits of k; the messages lie in the arena. */
etx_status etx_attention_send(struct etx_attention_messages *out,
    const struct etx_attention_run *run, int32_t k);

/* out [n_nodes, width] (+)= sum over the edges in of weight x[src] plus sum
 * over the edges out of weight x[dst]; x [n_nodes, width]. */
etx_status etx_attention_propagate(float *out, int32_t add,
    const struct etx_attention_run *run, const float *weight, const float *x,
    int32_t width);

/* Inputs of the networks. Parts 0 and, with a shortcut, 2, else 1, of the
 * edge network are u by the first and second end. *u_part and *message_part
 * get the places of u and of the messages' u among the node network's. */
void etx_attention_encoder_parts(
    struct etx_mlp_input *out, const struct etx_attention_run *run);
void etx_attention_edge_parts(
    struct etx_mlp_input *out, const struct etx_attention_run *run, int32_t k);
void etx_attention_node_parts(struct etx_mlp_input *out, int32_t *u_part,
    int32_t *message_part, const struct etx_attention_run *run, int32_t k,
    const struct etx_attention_messages *messages);

/* etx_arch.backward. */
etx_status etx_attention_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

#endif
