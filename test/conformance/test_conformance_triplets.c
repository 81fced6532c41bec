/* test/conformance/test_conformance_triplets.c -- what triplet_gnn promises.
 *
 * How the logits of doublets and triplets hang together, and the bound on
 * the number of triplets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/cpu.h"
#include "stage/stage.h"

#include <math.h>
#include <string.h>

#include "case.h"

#define N_NODES 5

static const struct network_case small = {.name = "small",
    .arch = "triplet_gnn",
    .options = "{\"triplets\": {\"hidden\": 4, \"n_iterations\": 2},"
               " \"doublet_hidden\": [4], \"max_triplets\": 3}",
    .n_node_features = 2,
    .n_edge_features = 4};

/* N_NODES random nodes and these edges. */
static void use_edges(struct network_problem *problem, int64_t n_edges,
    const int32_t *src, const int32_t *dst)
{
    network_problem_make(problem, 3, N_NODES, 0, small.n_node_features);
    etx_graph_free(problem->graph);
    ck_assert_int_eq(etx_graph_from_edges(&problem->graph, N_NODES, n_edges,
                         src, dst, NULL, NULL),
        ETX_OK);
    problem->input.graph = problem->graph;
}

/* The logit of one edge without any triplet. */
static float alone(const struct etx_network *network,
    struct etx_context *context, int32_t src, int32_t dst)
{
    struct network_problem problem;
    float out = 0.0f;

    use_edges(&problem, 1, &src, &dst);
    network_forward(&out, network, context, &problem);
    network_problem_free(&problem);
    return out;
}

/* On a path of two doublets a, b: s_a = u_a + q, s_b = u_b + q and the
 * triplet has u_a + u_b + q. */
ETX_TEST(test_triplets_of_a_path)
{
    const int32_t src[] = {0, 2};
    const int32_t dst[] = {2, 4};
    struct etx_network *network = network_make(&small, 4);
    struct network_problem problem;
    struct etx_context context;
    struct etx_graph *line = NULL;
    float u[2];
    float s[2];
    float triplet = 0.0f;

    network_context_open(&context, 1, ETX_CPU_BEST);
    for (int32_t e = 0; e < 2; e++)
        u[e] = alone(network, &context, src[e], dst[e]);
    use_edges(&problem, 2, src, dst);
    network_forward(s, network, &context, &problem);
    ck_assert_int_eq(
        etx_stage_triplets(&line, &context, problem.graph, 10), ETX_OK);
    ck_assert_int_eq(line->n_edges, 1);
    ck_assert_int_eq(network->arch->forward_triplets(
                         network, &context, &problem.input, line, &triplet),
        ETX_OK);
    ck_assert_int_eq(etx_arena_in_use(context.stream->arena), 0);
    ck_assert(fabsf(s[0] - u[0]) > 1e-3f);
    ck_assert(fabsf((s[0] - u[0]) - (s[1] - u[1])) <= 1e-6f);
    ck_assert(fabsf(triplet - (s[0] + u[1])) <= 1e-6f);
    etx_graph_free(line);
    network_problem_free(&problem);
    network_context_close(&context);
    etx_network_free(network);
}

/* A hit with two doublets in and two out has four triplets: one too many. */
ETX_TEST(test_triplets_limit)
{
    const int32_t src[] = {0, 1, 2, 2};
    const int32_t dst[] = {2, 2, 3, 4};
    struct etx_network *network = network_make(&small, 5);
    struct network_problem problem;
    struct etx_context context;
    float out[4];

    network_context_open(&context, 1, ETX_CPU_BEST);
    use_edges(&problem, 3, src, dst);
    network_forward(out, network, &context, &problem);
    network_problem_free(&problem);
    use_edges(&problem, 4, src, dst);
    ck_assert_int_eq(
        network->arch->forward(network, &context, &problem.input, NULL, out),
        ETX_ERR_LIMIT);
    ck_assert(strstr(etx_last_error(), "'max_triplets' is 3") != NULL);
    ck_assert(strstr(etx_last_error(), "4 edges between 4") != NULL);
    ck_assert_int_eq(etx_arena_in_use(context.stream->arena), 0);
    network_problem_free(&problem);
    network_context_close(&context);
    etx_network_free(network);
}
