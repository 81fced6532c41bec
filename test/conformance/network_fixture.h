/* test/conformance/network_fixture.h -- networks, inputs and contexts to test.
 *
 * A case is a family with options; every family of etx_archs also has a case
 * of its own defaults, so a new family is tested before it adds any.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_CONFORMANCE_NETWORK_FIXTURE_H
#define ETX_TEST_CONFORMANCE_NETWORK_FIXTURE_H

#include "arch/arch.h"
#include "support.h"

struct network_case {
    const char *name;
    const char *arch;
    const char *options; /* network_json */
    int32_t n_node_features;
    int32_t n_edge_features; /* the first n_edge_features of enum
                                etx_edge_feature */
    int32_t with_score;      /* 1: and score_logit */
    int32_t is_rough;  /* 1: kinks (relu, max): wider finite differences */
    int32_t is_global; /* 1: a batch norm ties all rows together */
};

int32_t network_n_cases(void);
struct network_case network_case_at(int32_t index);

/* An object from JSON with ' in place of "; NULL for NULL. */
struct etx_json *network_json(const char *text);

/* The network with random values from seed; fails the test otherwise. */
struct etx_network *network_make(
    const struct network_case *which, uint64_t seed);

/* A random event: nodes with features and positions, edges among the nodes
 * 1 .. n_nodes - 2 (the ends are isolated), random scores. */
struct network_problem {
    struct etx_network_input input;
    float *features;
    float *position;
    struct etx_graph *graph;
};

void network_problem_make(struct network_problem *problem, uint64_t seed,
    int64_t n_nodes, int64_t n_edges, int32_t n_features);
void network_problem_free(struct network_problem *problem);
#define scoped_problem SCOPED(network_problem_free) struct network_problem

/* Other edges: src, dst, score or NULL [n_edges]; order [n_edges] or NULL as
 * etx_graph_from_edges sets it. */
void network_problem_set_edges(struct network_problem *problem, int64_t n_edges,
    const int32_t *src, const int32_t *dst, const float *score, int64_t *order);

/* Values that the network's output has for this problem. */
int64_t network_n_out(
    const struct etx_network *network, const struct network_problem *problem);

void network_context_open(
    struct etx_context *context, int32_t n_threads, int32_t cpu_level);
void network_context_close(struct etx_context *context);

/* A network of a case, a random event and a context with one thread. */
struct network_trial {
    struct network_case which;
    struct etx_network *network;
    struct network_problem problem;
    struct etx_context context;
    int64_t n_out;
};

void network_trial_open(struct network_trial *trial,
    const struct network_case *which, uint64_t seed, int64_t n_nodes,
    int64_t n_edges, int32_t cpu_level);
void network_trial_close(struct network_trial *trial);
#define scoped_trial SCOPED(network_trial_close) struct network_trial

/* A forward that fails with status and a text in the message, and leaves the
 * arena as found. */
void network_trial_refused(
    struct network_trial *trial, etx_status status, const char *text);

/* Forward in inference; and forward with tape, then backward of d_out, adding
 * to gradient [n_values]. Fail the test unless they succeed and leave the
 * arena as found. */
void network_forward(float *out, const struct etx_network *network,
    struct etx_context *context, const struct network_problem *problem);
void network_backward(float *out, float *gradient,
    const struct etx_network *network, struct etx_context *context,
    const struct network_problem *problem, const float *d_out);

/* The same with latents kept as tape says. */
void network_backward_with(float *out, float *gradient,
    const struct etx_network *network, struct etx_context *context,
    const struct network_problem *problem, const float *d_out,
    struct etx_tape tape);

/* What a network gives: forward alone, forward with tape, and the gradient of a
 * loss that weighs the outputs at random. */
struct network_result {
    float *out, *taped; /* [network_n_out] */
    float *gradient;    /* [n_values] */
};

void network_compute(struct network_result *result,
    const struct etx_network *network, const struct network_problem *problem,
    int32_t n_threads, int32_t level);
void network_result_free(struct network_result *result);
#define scoped_result SCOPED(network_result_free) struct network_result

/* The largest |a - b|; fails the test where a value is not finite. */
double network_largest_difference(const float *a, const float *b, int64_t n);

/* n zeroed floats; and n uniform in [-1, 1). Freed with free. */
float *network_zeros(int64_t n);
float *network_randoms(int64_t n, uint64_t seed);

#endif
