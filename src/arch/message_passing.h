/* arch/message_passing.h -- the run of a message-passing network.
 *
 * A network has its equations as steps. This is the driver: it calls them in
 * order, and owns the latents of the iterations, the tape and scratch memory.
 *
 *     forward                          backward, from the latents on the tape
 *
 *     open
 *     encode       -> latents 0        encode_backward      d 0 -> parameters
 *     iterate 0    -> latents 1     ^  iterate_backward 0   d 1 -> d 0
 *     iterate 1    -> latents 2     |  iterate_backward 1   d 2 -> d 1
 *     ...                           |  ...
 *     decode       -> out           |  decode_backward      d out -> d n
 *     close                         |  open
 *
 * d k is the gradient of the latents before iteration k.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_MESSAGE_PASSING_H
#define ETX_ARCH_MESSAGE_PASSING_H

#include "arch/edge_steps.h"
#include "arch/latents.h"

#define ETX_MAX_LATENTS 3

/* One run of a network over one graph. */
struct etx_run {
    const struct etx_network *network;
    struct etx_context *context;
    struct etx_network_input input; /* open may replace the graph */
    const struct etx_tape *tape;    /* NULL: inference */
    void *own; /* [etx_steps.own_size] of the network, zero at first */

    /* Latents of several kinds, numbered by the network. */
    struct etx_latents latents[ETX_MAX_LATENTS];
    int32_t n_latents;

    /* Backward: the gradients of all parameters, and of the latents of the
     * iteration that the run is at. */
    float *gradient;
    struct etx_sum d_latents[ETX_MAX_LATENTS];
};

/* The steps of a network. After each the arena is reset, except for open, whose
 * scratch lives as long as the latents. */
struct etx_steps {
    size_t own_size;

    /* Describe the latents (etx_run_add_latents) and compute what all steps
     * need. close, or NULL, frees what is not in the arena, also after a
     * failed open; a network with close has an own_size above 0. */
    etx_status (*open)(struct etx_run *run);
    void (*close)(struct etx_run *run);

    etx_status (*encode)(struct etx_run *run);
    etx_status (*iterate)(struct etx_run *run, int32_t k);
    etx_status (*decode)(struct etx_run *run, float *out);

    etx_status (*decode_backward)(struct etx_run *run, const float *d_out);
    etx_status (*iterate_backward)(struct etx_run *run, int32_t k);
    etx_status (*encode_backward)(struct etx_run *run);
};

/* etx_arch.forward and .backward of a network with steps. */
etx_status etx_run_forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out);
etx_status etx_run_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

/* For open: the next kind of latents. All kinds have as many iterations. */
void etx_run_add_latents(
    struct etx_run *run, const struct etx_latents_shape *shape);

/* Latents k of a kind, [n_rows, width] (etx_latents_at). */
void *etx_run_latents(const struct etx_run *run, int32_t kind, int32_t k);

/* Append latents k of a kind to the columns of the input of a block: one row
 * per edge, gathered by an end of the edges, or, end NULL, the rows themselves.
 * Their gradient is added to sum. */
void etx_run_append(struct etx_mlp_input *input, struct etx_run *run,
    int32_t kind, int32_t k, const struct etx_edge_end *end,
    struct etx_sum *sum);

/* Inputs of a block: n_rows rows without parts; the features of the nodes. */
struct etx_mlp_input etx_run_rows(int64_t n_rows);
struct etx_mlp_input etx_run_node_features(const struct etx_run *run);

/* out = block(input); and its gradients, from d_out to the sums of the
 * parts. */
etx_status etx_run_block(struct etx_run *run, const struct etx_mlp_block *block,
    struct etx_mlp_input *input, float *out);
etx_status etx_run_block_backward(struct etx_run *run,
    const struct etx_mlp_block *block, const struct etx_mlp_input *input,
    const float *d_out);

/* Latents k = block(input), plus the residual, of their type, or NULL. On a
 * partition of a graph the rows of halo nodes are then received from the
 * partitions that own them. Backward: d_latents[kind] of the output becomes
 * that of the residual, or 0 without one. */
etx_status etx_run_update(struct etx_run *run, int32_t kind, int32_t k,
    const struct etx_mlp_block *block, struct etx_mlp_input *input,
    const void *residual);
etx_status etx_run_update_backward(struct etx_run *run, int32_t kind,
    const struct etx_mlp_block *block, const struct etx_mlp_input *input,
    int32_t has_residual);

#endif
