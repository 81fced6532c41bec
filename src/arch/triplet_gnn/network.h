/* arch/triplet_gnn/network.h -- options, layers and one run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_TRIPLET_GNN_NETWORK_H
#define ETX_ARCH_TRIPLET_GNN_NETWORK_H

#include "arch/inner_network.h"
#include "arch/mlp_block.h"

struct etx_triplet {
    struct etx_widths hidden; /* of the perceptron */
    struct etx_mlp_style style;
    int32_t order; /* enum etx_edge_order */
    int32_t max_triplets;

    int32_t n_row; /* width of a doublet's features */
    struct etx_mlp_block doublets;
    struct etx_inner_network triplets; /* on the line graph */
};

/* etx_arch.configure and .release. */
etx_status etx_triplet_configure(
    struct etx_network *network, const json_t *options);
void etx_triplet_release(struct etx_network *network);

/* What a forward leaves for the backward. */
struct etx_triplet_tape {
    float *rows;          /* [n_doublets, n_row] features of doublets */
    float *logit;         /* [n_triplets] */
    struct etx_tape tape; /* of the network of triplets */
};

/* One run over one graph. */
struct etx_triplet_run {
    const struct etx_network *network;
    const struct etx_triplet *state;
    struct etx_context *context;
    const struct etx_network_input *input;
    int64_t n_doublets, n_triplets;
    const struct etx_graph *line; /* the line graph of input->graph */
    struct etx_graph *owned;      /* line, unless it is the caller's */
    struct etx_network triplets;  /* with its values */
};

/* line NULL: make the line graph. Always close. */
etx_status etx_triplet_open(struct etx_triplet_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input, const struct etx_graph *line);
void etx_triplet_close(struct etx_triplet_run *run);

/* The doublets as the nodes that the network of triplets reads. */
struct etx_network_input etx_triplet_input(
    const struct etx_triplet_run *run, const float *rows);

/* The input of the doublet network: rows [n_doublets, n_row]. */
void etx_triplet_doublet_parts(struct etx_mlp_input *out,
    const struct etx_triplet_run *run, const float *rows);

/* The largest of the triplets' logits into each doublet, and out of it:
 * out [n_doublets], 0 where there is none. */
struct etx_segment_reduce_args etx_triplet_best_in(
    const struct etx_triplet_run *run, const float *logit, float *out);
struct etx_segment_reduce_args etx_triplet_best_out(
    const struct etx_triplet_run *run, const float *logit, float *out);

/* etx_arch.backward. */
etx_status etx_triplet_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

#endif
