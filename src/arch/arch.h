/* arch/arch.h -- a network: its parameters, forward and backward.
 *
 * One folder per architecture. It reads its options from JSON,
 * declares its parameters in order, and runs as a sequence of operators. The
 * Makefile generates the list of architectures from the folders.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_ARCH_H
#define ETX_ARCH_ARCH_H

#include "base/json.h"

#include "backend/backend.h"
#include "data/graph.h"
#include "data/hit_features.h"

/* The magnitude of a parameter: see ETX_MAX_HIT_VALUE. */
#define ETX_MAX_PARAMETER 1e6f

/* What a network computes. */
enum etx_network_kind {
    ETX_NETWORK_POINT, /* a point [n_out] for every node */
    ETX_NETWORK_EDGE   /* a logit for every edge */
};

/* Edge features of a model file: enum etx_edge_feature and its scale. */
struct etx_edge_feature_list {
    int32_t n_features;
    int32_t feature[ETX_N_EDGE_FEATURES];
    float scale[ETX_N_EDGE_FEATURES];
};

/* What a network reads. Borrowed. */
struct etx_network_input {
    int64_t n_nodes;
    const float *node_features;    /* [n_nodes, n_node_features] */
    const float *position;         /* [n_nodes, 3] mm, for edge features */
    const struct etx_graph *graph; /* NULL for point networks */
    const float *votes;            /* [n_edges] or NULL: etx_network_votes */
};

/* A named block of a network's parameters. */
struct etx_parameter {
    char name[64];  /* "layers.0.weight" */
    int64_t offset; /* into the flat array of all parameters */
    int32_t n_rows; /* 1 for vectors */
    int32_t n_cols;
    int32_t is_vector; /* shape [n_cols] rather than [n_rows, n_cols] */
    int32_t decays;    /* weight decay applies (weights, not norms, biases) */
    int32_t init;      /* enum etx_init */
    int32_t fan_in;    /* of the initial values */
};

enum etx_init {
    ETX_INIT_UNIFORM, /* +-1 / sqrt(fan_in): weights and biases of linears */
    ETX_INIT_ONE,     /* gains */
    ETX_INIT_ZERO     /* shifts */
};

struct etx_network;
struct etx_steps;

/* The latents that a forward keeps for the backward, in the arena of the
 * context: reset the arena only after the backward. The caller sets how they
 * are kept and does not change it until the backward has run; only networks
 * with saves_memory read recomputes and half. */
struct etx_tape {
    void *state;             /* of the architecture */
    int32_t recomputes;      /* keep few, recompute the others: same bits */
    int32_t half;            /* enum etx_half: how they are kept */
    int32_t is_forward_only; /* keep nothing: no backward follows */

    /* Of a network that has_pt_head, for the edges of its graph; or NULL. */
    float *pt;         /* [n_edges] output of the head, written by forward */
    const float *d_pt; /* [n_edges] its gradient, read by backward */
};

/* An architecture. Several threads may call functions other than configure
 * for one network at the same time. */
struct etx_arch {
    const char *name; /* as in etx.config */
    int32_t kind;     /* enum etx_network_kind */

    /* Read options (an object; unknown keys are ETX_ERR_FORMAT), allocate
     * network->state, declare parameters, set n_out. network->kind,
     * n_node_features and edge_features are already set. */
    etx_status (*configure)(
        struct etx_network *network, const struct etx_json *options);

    /* NULL, or: free what network->state, not NULL, points to. */
    void (*release)(struct etx_network *network);

    /* out: [n_nodes, n_out] or logits [n_edges]. tape NULL: inference. */
    etx_status (*forward)(const struct etx_network *network,
        struct etx_context *context, const struct etx_network_input *input,
        struct etx_tape *tape, float *out);

    /* gradient [n_values] is added to. d_out as out of forward. */
    etx_status (*backward)(const struct etx_network *network,
        struct etx_context *context, const struct etx_network_input *input,
        const struct etx_tape *tape, const float *d_out, float *gradient);

    /* Logits of triplets: out [triplets->n_edges], triplets the line graph of
     * input->graph. NULL: the network scores none. */
    etx_status (*forward_triplets)(const struct etx_network *network,
        struct etx_context *context, const struct etx_network_input *input,
        const struct etx_graph *triplets, float *out);

    /* For etx_run_forward and etx_run_backward (arch/message_passing.h). */
    const struct etx_steps *steps;

    /* Reads or writes arrays outside the operators: not on a device. */
    int32_t is_host_only;

    /* The forward reads only src, dst and score of the graph. */
    int32_t reads_ends_only;

    /* Reads etx_tape.recomputes and .half. */
    int32_t saves_memory;
};

#define ETX_NETWORK_MAX_BLOCKS 3

struct etx_network {
    const struct etx_arch *arch;
    int32_t n_node_features;
    int32_t n_out;       /* columns of a point network; 1 for edge networks */
    int32_t has_pt_head; /* training can predict a momentum for every edge */
    struct etx_edge_feature_list edge_features;
    int32_t n_parameters;
    struct etx_parameter *parameter; /* [n_parameters] */
    int64_t n_values;
    float *value;       /* [n_values] all parameters, flat */
    uint64_t frozen_id; /* unique in the process, once the values are final;
                         * 0: they may change */
    void *state;        /* options and tables of layers, of the architecture */
    void *blocks[ETX_NETWORK_MAX_BLOCKS]; /* of etx_mlp_blocks_declare */
    int32_t n_blocks;
    const char *needs_whole; /* why it cannot run on a partition of a graph,
                              * or NULL; set by configure */
};

/* All architectures, NULL-terminated: generated from the folders. */
extern const struct etx_arch *const etx_archs[];

/* NULL for an unknown name. */
const struct etx_arch *etx_arch_find(const char *name);

/* A network of this architecture with all values zero; options may be NULL: {}.
 */
etx_status etx_network_create(struct etx_network **out, const char *arch,
    int32_t n_node_features, const struct etx_edge_feature_list *edge_features,
    const struct etx_json *options);
void etx_network_free(struct etx_network *network);

/* Free what the struct points to. */
void etx_network_release(struct etx_network *network);

/* A number that no other frozen network or table of the process has. */
uint64_t etx_frozen_id(void);

/* The values are final: contexts may cache them. NULL is allowed. */
void etx_network_freeze(struct etx_network *network);

/* Does the network read this feature? */
int32_t etx_network_needs(
    const struct etx_network *network, enum etx_edge_feature feature);

/* Hough votes of the edges of input->graph, in the arena, for input->votes.
 * NULL when the network does not read them. */
etx_status etx_network_votes(const float **out,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input);

/* Initial values as PyTorch's Linear draws them (uniform +-1/sqrt(fan_in)),
 * from Philox(seed); norms at one and zero. */
void etx_network_init(struct etx_network *network, uint64_t seed);

/* For configure: append a parameter; *offset: where it starts in value. */
etx_status etx_network_declare(struct etx_network *network, int64_t *offset,
    const struct etx_parameter *parameter);

#endif
