/* arch/interaction_network/steps.h -- what forward and backward have in common.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_INTERACTION_NETWORK_STEPS_H
#define ETX_ARCH_INTERACTION_NETWORK_STEPS_H

#include "arch/interaction_network/network.h"
#include "arch/message_passing.h"
#include "data/part.h"

#define ETX_INTERACTION_MAX_SIDES (2 * ETX_INTERACTION_MAX_AGGREGATES)

/* Latents: [n_nodes, hidden] and [n_edges, hidden], float16 in inference with
 * half precision. Inference stores nodes of k - 1 and k, edges of k alone,
 * updated in place, and with concat_initial latents 0. */
enum { ETX_NODES, ETX_EDGES };

/* etx_run.own: the doubled graph, and the gradients of the initial latents by
 * concatenation. */
struct etx_interaction_own {
    int64_t n_edges_out;       /* of the caller's graph */
    struct etx_graph *doubled; /* owned, or NULL */
    struct etx_halo halo;      /* of the doubled graph of a partition */
    int32_t *slot;             /* [2 * n_edges_out] see etx_graph_double */
    float *votes; /* [2 * n_edges_out] owned, or NULL: both directions alike */
    struct etx_sum d_initial[2]; /* of ETX_NODES, ETX_EDGES */
};

static inline const struct etx_interaction *etx_interaction_state(
    const struct etx_run *run)
{
    return run->network->state;
}

/* Are the node latents after the last iteration read by anything? */
static inline int32_t etx_interaction_reads_last_nodes(
    const struct etx_interaction *state)
{
    return !state->decode_edge || state->edge_update == ETX_UPDATE_NEW;
}

/* -------------------------------------------------- doubled graph, doubled.c
 */

/* Replace the graph by one with both directions of every edge, scores and
 * votes included; and free it. */
etx_status etx_interaction_double(struct etx_run *run);
void etx_interaction_double_free(struct etx_run *run);

/* out [n_edges_out] from values of the doubled edges, which are then used as
 * scratch: the values of the edges as they are, or the means of both
 * directions. */
etx_status etx_interaction_undouble(
    float *out, struct etx_run *run, float *doubled, int32_t is_mean);

/* The same backward: d_doubled [2 * n_edges_out]. */
etx_status etx_interaction_undouble_backward(
    float *d_doubled, struct etx_run *run, const float *d_out, int32_t is_mean);

/* ---------------------------------------------------- aggregates, messages.c
 */

/* The aggregates of edge latents, in the arena. */
struct etx_interaction_messages {
    int32_t n_parts;
    const float *part[ETX_INTERACTION_MAX_SIDES]; /* [n_nodes, hidden] */
    struct etx_sum d_part[ETX_INTERACTION_MAX_SIDES];

    /* Of the edges in (all aggregates), then out: [n_nodes, hidden]. Sums in
     * and out that are added share one array. */
    float *side[ETX_INTERACTION_MAX_SIDES];
    struct etx_segment_reduce_args reduce[ETX_INTERACTION_MAX_SIDES];
};

/* The arrays, and in out->reduce how they are computed from edges, latents
 * [n_edges, hidden]. out stays where it is. */
etx_status etx_interaction_describe(struct etx_interaction_messages *out,
    struct etx_run *run, const void *edges);
/* Their values. is_reduced: the block that computed the edges has done
 * out->reduce. */
etx_status etx_interaction_aggregate(struct etx_interaction_messages *out,
    struct etx_run *run, int32_t is_reduced);

/* From the gradients of the parts to that of the edges. */
etx_status etx_interaction_aggregate_backward(struct etx_run *run,
    const struct etx_interaction_messages *messages, const void *edges);

/* ------------------------------------------------- inputs of blocks, inputs.c
 */

/* With edge features in the arena. */
etx_status etx_interaction_edge_encoder_input(
    struct etx_mlp_input *out, struct etx_run *run);
/* Of the edge network of iteration k, of nodes after k_nodes iterations. */
struct etx_mlp_input etx_interaction_edge_input(
    struct etx_run *run, int32_t k, int32_t k_nodes);
struct etx_mlp_input etx_interaction_node_input(
    struct etx_run *run, int32_t k, struct etx_interaction_messages *messages);
struct etx_mlp_input etx_interaction_decoder_input(struct etx_run *run);
struct etx_mlp_input etx_interaction_pt_input(struct etx_run *run);

/* ------------------------------------------ steps, interaction_network.c */

/* Iterations after which the edge network of iteration k reads the nodes. */
int32_t etx_interaction_ends_of(const struct etx_interaction *state, int32_t k);

/* Edge latents k + 1. reduce: of the new ones, or NULL. */
etx_status etx_interaction_update_edges(struct etx_run *run, int32_t k,
    const struct etx_segment_reduce_args *reduce);

/* --------------------------------------------------------------- backward.c */

etx_status etx_interaction_decode_backward(
    struct etx_run *run, const float *d_out);
etx_status etx_interaction_iterate_backward(struct etx_run *run, int32_t k);
etx_status etx_interaction_encode_backward(struct etx_run *run);

#endif
