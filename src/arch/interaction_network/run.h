/* arch/interaction_network/run.h -- one run over one graph.
 *
 * The graph that is run over (doubled or not), where the latents of the
 * iterations lie, and the steps that forward and backward are made of.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_INTERACTION_NETWORK_RUN_H
#define ETX_ARCH_INTERACTION_NETWORK_RUN_H

#include "arch/halo.h"
#include "arch/interaction_network/network.h"
#include "arch/latents.h"

#define ETX_INTERACTION_MAX_SIDES (2 * ETX_INTERACTION_MAX_AGGREGATES)

struct etx_interaction_run {
    const struct etx_network *network;
    const struct etx_interaction *state;
    struct etx_context *context;
    struct etx_network_input input; /* its graph is the one that is run over */
    int64_t n_nodes, n_edges;       /* of that graph */
    int64_t n_edges_out;            /* of the caller's graph */

    struct etx_graph *doubled; /* owned, or NULL */
    struct etx_halo halo;      /* of the doubled part of a graph */
    int32_t *slot;             /* [2 * n_edges_out] see etx_graph_double */
    float *votes; /* [2 * n_edges_out] owned, or NULL: both directions alike */

    int32_t is_half;          /* latents are float16, else float32 */
    struct etx_latents nodes; /* [n_nodes, hidden] each */
    struct etx_latents edges; /* [n_edges, hidden] each */
};

/* Ready to run; doubles the graph when the options say so; tape NULL for
 * inference. Always close. */
etx_status etx_interaction_open(struct etx_interaction_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input, const struct etx_tape *tape);
void etx_interaction_close(struct etx_interaction_run *run);

/* Bytes of all latents; and the memory [bytes] for them. */
int64_t etx_interaction_latent_bytes(const struct etx_interaction_run *run);
void etx_interaction_place(struct etx_interaction_run *run, void *memory);

/* The places of latents after k iterations: [n_nodes, hidden] and [n_edges,
 * hidden], float16 in a run that is_half, else float32. Unless all are kept as
 * float32, those of nodes are there for k - 1 and k, those of edges for k
 * alone, updated in place, and with concat_initial those of 0. */
void *etx_interaction_node(const struct etx_interaction_run *run, int32_t k);
void *etx_interaction_edge(const struct etx_interaction_run *run, int32_t k);

/* Backward: bring the latents of nodes, or of edges, to their place. Those of
 * edges that were not kept are made again, which may move those of nodes. */
etx_status etx_interaction_load_nodes(
    struct etx_interaction_run *run, int32_t k);
etx_status etx_interaction_load_edges(
    struct etx_interaction_run *run, int32_t k);

/* What a part of an MLP's input is, for the way of its gradient. */
enum etx_interaction_role {
    ETX_ROLE_INPUT,  /* of the caller: no gradient */
    ETX_ROLE_FIRST,  /* node latents by the first end of the edge */
    ETX_ROLE_SECOND, /* by the second */
    ETX_ROLE_FIRST0, /* initial node latents by the ends */
    ETX_ROLE_SECOND0,
    ETX_ROLE_EDGE, /* edge latents */
    ETX_ROLE_EDGE0,
    ETX_ROLE_NODE, /* node latents */
    ETX_ROLE_NODE0,
    ETX_ROLE_MESSAGE /* aggregates of edges */
};

/* The input of an MLP, and after its backward the gradients. */
struct etx_interaction_parts {
    struct etx_mlp_input input;
    int32_t role[ETX_MAX_PARTS];
    float *gradient[ETX_MAX_PARTS]; /* of the part's data, NULL for INPUT */
};

/* The aggregates of edge latents. */
struct etx_interaction_messages {
    int32_t n_parts;
    const float *part[ETX_INTERACTION_MAX_SIDES]; /* [n_nodes, hidden] */
    /* Of the edges in (all aggregates), then out: [n_nodes, hidden]; sums
     * that are added lie in one place. */
    float *side[ETX_INTERACTION_MAX_SIDES];
};

/* edges: latents [n_edges, hidden]. The messages lie in the arena. first: the
 * first aggregate of the edges in, if it is there already, or NULL. */
etx_status etx_interaction_aggregate(struct etx_interaction_messages *out,
    const struct etx_interaction_run *run, const void *edges, float *first);

/* How the first aggregate of edges is made, for what makes the edges; it lies
 * in the arena. */
etx_status etx_interaction_first_aggregate(struct etx_segment_reduce_args *out,
    const struct etx_interaction_run *run, const void *edges);

/* Gradient of edges (+)=, from that of the parts. */
etx_status etx_interaction_aggregate_backward(float *d_edges, int32_t add,
    const struct etx_interaction_run *run,
    const struct etx_interaction_messages *messages, const void *edges,
    float *const *d_part);

/* Inputs of the networks. features [n_edges, n_edge_features]; nodes and edges
 * are latents. */
void etx_interaction_node_encoder_parts(
    struct etx_interaction_parts *out, const struct etx_interaction_run *run);
void etx_interaction_edge_encoder_parts(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const float *features);
void etx_interaction_edge_parts(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *nodes,
    const void *edges);
void etx_interaction_node_parts(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *nodes,
    const struct etx_interaction_messages *messages);
void etx_interaction_decoder_parts(
    struct etx_interaction_parts *out, const struct etx_interaction_run *run);
void etx_interaction_pt_parts(
    struct etx_interaction_parts *out, const struct etx_interaction_run *run);

/* Edge latents k + 1 from those of k and the latents of nodes after so many
 * iterations: etx_interaction_ends_of. reduce: of the new ones, or NULL. */
etx_status etx_interaction_update_edges(const struct etx_interaction_run *run,
    int32_t k, const struct etx_segment_reduce_args *reduce);
int32_t etx_interaction_ends_of(const struct etx_interaction *state, int32_t k);

/* Run a block; it sets out of the parts. */
etx_status etx_interaction_run_block(const struct etx_interaction_run *run,
    const struct etx_mlp_block *block, struct etx_interaction_parts *parts,
    float *out);

/* The same into latents, with latents or NULL as the residual. */
etx_status etx_interaction_make_latents(const struct etx_interaction_run *run,
    const struct etx_mlp_block *block, struct etx_interaction_parts *parts,
    const void *residual, void *out);

/* [n_edges, n_edge_features] in the arena; NULL when there are none. */
etx_status etx_interaction_features(
    float **out, const struct etx_interaction_run *run);

/* Are the node latents after the last iteration read by anything? */
int32_t etx_interaction_reads_last_nodes(const struct etx_interaction *state);

/* etx_arch.backward. */
etx_status etx_interaction_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient);

#endif
