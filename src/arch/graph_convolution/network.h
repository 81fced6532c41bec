/* arch/graph_convolution/network.h -- options, layers and one run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_GRAPH_CONVOLUTION_NETWORK_H
#define ETX_ARCH_GRAPH_CONVOLUTION_NETWORK_H

#include "arch/mlp_block.h"

struct etx_convolution {
    int32_t hidden;
    int32_t n_iterations;
    int32_t n_encoder; /* hidden layers of the encoder, without its last */
    int32_t encoder_width[ETX_MAX_LAYERS];
    int32_t n_decoder; /* hidden layers of the decoder */
    int32_t decoder_width[ETX_MAX_LAYERS];
    struct etx_mlp_style style;
    int32_t has_encoder; /* 0: the convolutions begin at the features */
    int32_t residual;
    int32_t recurrent;
    int32_t order; /* enum etx_edge_order */

    struct etx_mlp_block encoder, decoder;
    struct etx_mlp_block *convolution; /* [n_iterations], 1 when recurrent */
};

/* etx_arch.configure and .release. */
etx_status etx_convolution_configure(
    struct etx_network *network, const json_t *options);
void etx_convolution_release(struct etx_network *network);

/* Width of the latents before iteration k. */
int32_t etx_convolution_width(const struct etx_network *network, int32_t k);

/* The block of iteration k. */
const struct etx_mlp_block *etx_convolution_block(
    const struct etx_convolution *state, int32_t k);

/* Is the input of iteration k added to its output? */
int32_t etx_convolution_is_residual(
    const struct etx_network *network, int32_t k);

/* One run over one graph: the normalised adjacency and the latents. */
struct etx_convolution_run {
    const struct etx_network *network;
    const struct etx_convolution *state;
    struct etx_context *context;
    const struct etx_network_input *input;
    int64_t n_nodes, n_edges;
    float *edge_weight;   /* [n_edges] 1 / sqrt(degree degree) of the ends */
    float *loop_weight;   /* [n_nodes] 1 / degree */
    int64_t *loop_offset; /* [n_nodes + 1] 0, 1, 2, ...: a loop a node */
    int64_t n_slots, stride;
    float *latents; /* n_slots of stride floats */
};

/* Weights in the arena; latents are not taken. keep_all: a slot for every
 * iteration, for a tape. */
etx_status etx_convolution_open(struct etx_convolution_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input, int32_t keep_all);

/* Latents before iteration k, [n_nodes, width(k)]; unless all are kept, of k
 * and k - 1. Those of 0 without encoder are the features of the caller. */
const float *etx_convolution_latent(
    const struct etx_convolution_run *run, int32_t k);

/* out [n_nodes, width] = D^-1/2 (A + 1) D^-1/2 x [n_nodes, width], A with
 * every edge in both directions. The matrix is symmetric, so that this is its
 * own gradient. */
etx_status etx_convolution_propagate(float *out,
    const struct etx_convolution_run *run, const float *x, int32_t width);

/* Inputs of the networks: the features of the nodes; what propagate made, of
 * this width; the ends of the edges and features [n_edges, n_edge_features],
 * NULL when there are none. */
void etx_convolution_encoder_parts(
    struct etx_mlp_input *out, const struct etx_convolution_run *run);
void etx_convolution_parts(struct etx_mlp_input *out,
    const struct etx_convolution_run *run, const float *propagated,
    int32_t width);
void etx_convolution_decoder_parts(struct etx_mlp_input *out,
    const struct etx_convolution_run *run, const float *features);

/* [n_edges, n_edge_features] in the arena; NULL when there are none. */
etx_status etx_convolution_features(
    float **out, const struct etx_convolution_run *run);

/* etx_arch.backward. */
etx_status etx_convolution_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

#endif
