/* arch/arch.h -- a network: its parameters, forward and backward.
 *
 * One folder per network family. A family reads its options from JSON,
 * declares its parameters in order, and runs as a sequence of operators. The
 * Makefile generates the list of families from the folders.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_ARCH_H
#define ETX_ARCH_ARCH_H

#include <jansson.h>

#include "backend/backend.h"
#include "data/graph.h"
#include "data/hit_features.h"

/* What a family computes. */
enum etx_network_kind {
    ETX_NETWORK_POINT, /* a point [n_out] for every node */
    ETX_NETWORK_EDGE   /* a logit for every edge */
};

/* Edge features of a model file: out of op.h, each with its scale. */
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
    const float *votes; /* [n_edges] or NULL, see etx_network_votes */
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
    int32_t fan_in;    /* for the initial values */
};

enum etx_init {
    ETX_INIT_UNIFORM, /* +-1 / sqrt(fan_in): weights and biases of linears */
    ETX_INIT_ONE,     /* gains */
    ETX_INIT_ZERO     /* shifts */
};

struct etx_network;
struct etx_steps;

/* Latents that a forward keeps for the backward; owned by the arena of the
 * context: reset the arena only after the backward. The caller says how they
 * are kept and leaves that as it is for the backward; only a family that
 * saves_memory reads it. */
struct etx_tape {
    void *state;        /* the family's own */
    int32_t recomputes; /* few are kept, the others made again, same bits */
    int32_t half;       /* enum etx_half: what they are kept as */
    int32_t is_forward_only; /* nothing is kept: no backward follows */

    /* Of a network that has_pt_head, for its graph's edges; or NULL. */
    float *pt;         /* [n_edges] the forward writes what the head says */
    const float *d_pt; /* [n_edges] its gradient, which the backward takes */
};

/* A family of networks. Functions other than configure may run at once for
 * one network from several threads. */
struct etx_arch {
    const char *name; /* as in etx.config */
    int32_t kind;     /* enum etx_network_kind */

    /* Read options (an object; unknown keys are ETX_ERR_FORMAT), allocate
     * network->state, declare parameters, set n_out. network->kind,
     * n_node_features and edge_features are already set. */
    etx_status (*configure)(struct etx_network *network, const json_t *options);
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
     * input->graph. NULL: the family scores none. */
    etx_status (*forward_triplets)(const struct etx_network *network,
        struct etx_context *context, const struct etx_network_input *input,
        const struct etx_graph *triplets, float *out);

    /* For etx_run_forward and etx_run_backward (arch/message_passing.h). */
    const struct etx_steps *steps;

    /* Works on arrays outside the operators: not on a device. */
    int32_t is_host_only;

    /* The forward reads of the graph src, dst and score alone. */
    int32_t reads_ends_alone;

    /* Reads etx_tape.recomputes and .half. */
    int32_t saves_memory;
};

struct etx_network {
    const struct etx_arch *arch;
    int32_t n_node_features;
    int32_t n_out;       /* columns of a point network; 1 for edge networks */
    int32_t has_pt_head; /* training can ask for a momentum of every edge */
    struct etx_edge_feature_list edge_features;
    int32_t n_parameters;
    struct etx_parameter *parameter; /* [n_parameters] */
    int64_t n_values;
    float *value;   /* [n_values] all parameters, flat */
    uint64_t stamp; /* of this network alone in the process, once its values
                     * are final; 0: they may change */
    void *state;    /* the family's options and layer tables */
    const char *needs_whole; /* why it cannot run on a part of a graph, or
                              * NULL; set by configure */
};

/* All families, NULL-terminated: generated from the folders. */
extern const struct etx_arch *const etx_archs[];

/* NULL when there is none of that name. */
const struct etx_arch *etx_arch_find(const char *name);

/* A network of this family with all values zero; options may be NULL: {}. */
etx_status etx_network_create(struct etx_network **out, const char *arch,
    int32_t n_node_features, const struct etx_edge_feature_list *edge_features,
    const json_t *options);
void etx_network_free(struct etx_network *network);

/* The values will not change any more: a context may keep them. NULL is
 * fine. */
void etx_network_seal(struct etx_network *network);

/* Is this feature on the network's list? */
int32_t etx_network_needs(
    const struct etx_network *network, enum etx_edge_feature feature);

/* Hough votes of the edges of input->graph, in the arena: what input->votes
 * must be. NULL when the network has no feature that needs them. */
etx_status etx_network_votes(const float **out,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input);

/* Initial values as PyTorch's Linear draws them (uniform +-1/sqrt(fan_in)),
 * from Philox(seed); norms at one and zero. */
void etx_network_init(struct etx_network *network, uint64_t seed);

/* For configure: append a parameter; *offset gets its place in value. */
etx_status etx_network_declare(struct etx_network *network, int64_t *offset,
    const struct etx_parameter *parameter);

/* The release of a family whose state owns nothing beside itself. */
void etx_network_release_state(struct etx_network *network);

#endif
