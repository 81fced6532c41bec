/* test/conformance/test_conformance_families.c -- what one family alone does:
 * a filter in blocks, an interaction network over doubled edges, in little
 * memory, and cancelled.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More edges than a block of the filter: the scores of the last edges are
 * those that they have in a graph of their own. */
ETX_TEST(test_families_filter_blocks)
{
    const struct network_case which = {.name = "blocks",
        .arch = "edge_filter",
        .options = "{'hidden': [4]}",
        .n_node_features = 2,
        .n_edge_features = 3};
    const int64_t n_edges = 140000;
    const int64_t n_last = 100;
    scoped_network *network = network_make(&which, 19);
    scoped_problem all;
    scoped_problem last;
    scoped_result a;
    scoped_result b;

    network_problem_make(&all, 20, 900, n_edges, 2);
    network_problem_make(&last, 20, 900, 0, 2);
    network_problem_set_edges(&last, n_last, all.graph->src + n_edges - n_last,
        all.graph->dst + n_edges - n_last, NULL, NULL);
    network_compute(&a, network, &all, 2, ETX_CPU_BEST);
    network_compute(&b, network, &last, 1, ETX_CPU_BEST);
    ck_assert(network_largest_difference(
                  a.out + n_edges - n_last, b.out, n_last) <= 1e-5);
}

/* Scores of an interaction network over the edges of problem, both ways when
 * is_double: then of the edges as they are, followed by their reverses. */
static float *score_as(const char *direction,
    const struct network_problem *problem, int32_t is_double)
{
    char options[128];
    const struct network_case which = {.name = "doubled",
        .arch = "interaction_network",
        .options = options,
        .n_node_features = 3,
        .n_edge_features = 5,
        .with_score = 1};
    const struct etx_graph *graph = problem->graph;
    const int64_t n = graph->n_edges;
    const size_t bytes = (size_t)n * sizeof(int32_t);
    const int64_t n_run = is_double ? 2 * n : n;
    int32_t *src = calloc((size_t)(2 * n), sizeof *src);
    int32_t *dst = calloc((size_t)(2 * n), sizeof *dst);
    float *score = network_zeros(2 * n);
    int64_t *order = calloc((size_t)(2 * n), sizeof *order);
    struct network_problem run = *problem;
    struct etx_network *network = NULL;
    struct network_result result;
    float *out = network_zeros(2 * n);

    (void)snprintf(options, sizeof options,
        "{'hidden': 6, 'n_iterations': 2, 'direction': '%s'}", direction);
    network = network_make(&which, 23);
    memcpy(src, graph->src, bytes);
    memcpy(src + n, graph->dst, bytes);
    memcpy(dst, graph->dst, bytes);
    memcpy(dst + n, graph->src, bytes);
    memcpy(score, graph->score, bytes);
    memcpy(score + n, graph->score, bytes);
    run.graph = NULL;
    network_problem_set_edges(&run, n_run, src, dst, score, order);
    network_compute(&result, network, &run, 1, ETX_CPU_BEST);
    for (int64_t e = 0; e < n_run; e++)
        out[order[e]] = result.out[e];
    network_result_free(&result);
    etx_graph_free(run.graph);
    etx_network_free(network);
    free(src);
    free(dst);
    free(score);
    free(order);
    return out;
}

/* Doubling is what a directed run over both ways of every edge gives. */
ETX_TEST(test_families_doubled)
{
    const int64_t n = 80;
    scoped_problem problem;
    scoped float *both = NULL;
    scoped float *first_half = NULL;
    scoped float *mean = NULL;

    network_problem_make(&problem, 24, 30, n, 3);
    both = score_as("directed", &problem, 1);
    first_half = score_as("doubled_first_half", &problem, 0);
    mean = score_as("doubled_mean", &problem, 0);
    for (int64_t e = 0; e < n; e++) {
        const float expected = 0.5f * (both[e] + both[n + e]);

        ck_assert(fabsf(first_half[e] - both[e]) <= 1e-5f);
        ck_assert(fabsf(mean[e] - expected) <= 1e-5f);
    }
}

/* In inference memory holds at most three latents of all edges. */
ETX_TEST(test_families_memory)
{
    const struct network_case which = {.name = "memory",
        .arch = "interaction_network",
        .options = "{'hidden': 32, 'n_iterations': 4}",
        .n_node_features = 4,
        .n_edge_features = 9};
    const int64_t n_edges = 40000;
    scoped_trial trial;
    scoped float *out = network_zeros(n_edges);

    network_trial_open(&trial, &which, 25, 500, n_edges, ETX_CPU_BEST);
    network_forward(out, trial.network, &trial.context, &trial.problem);
    ck_assert_int_lt(etx_arena_peak(trial.context.stream->arena),
        3 * n_edges * 32 * (int64_t)sizeof(float));
}

static int32_t stop(void *user)
{
    (void)user;
    return 1;
}

ETX_TEST(test_families_cancel)
{
    const struct network_case which = {.name = "cancel",
        .arch = "interaction_network",
        .options = "{'hidden': 4}",
        .n_node_features = 2};
    scoped_trial trial;

    network_trial_open(&trial, &which, 21, 20, 30, ETX_CPU_BEST);
    trial.context.stream->cancel = stop;
    network_trial_refused(&trial, ETX_ERR_CANCELLED, "");
}
