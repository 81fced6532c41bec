/* test/conformance/test_conformance_triplets.c -- logits of triplet_gnn.
 *
 * How the logits of doublets and triplets depend on each other, and the bound
 * on the number of triplets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/cpu.h"
#include "stage/stage.h"

#include <math.h>

#include "support.h"

#define N_NODES 5

static const struct network_case small = {.name = "small",
    .arch = "triplet_gnn",
    .options = "{'triplets': {'hidden': 4, 'n_iterations': 2},"
               " 'doublet_hidden': [4], 'max_triplets': 3}",
    .n_node_features = 2,
    .n_edge_features = 4};

/* The logit of one edge without any triplet. */
static float alone(struct network_trial *trial, int32_t src, int32_t dst)
{
    float out = 0.0f;

    network_problem_set_edges(&trial->problem, 1, &src, &dst, NULL, NULL);
    network_forward(&out, trial->network, &trial->context, &trial->problem);
    return out;
}

/* On a path of two doublets a, b: s_a = u_a + q, s_b = u_b + q and the
 * triplet has u_a + u_b + q. */
ETX_TEST(test_triplets_of_a_path)
{
    const int32_t src[] = {0, 2};
    const int32_t dst[] = {2, 4};
    scoped_trial trial;
    scoped_graph *line = NULL;
    float u[2];
    float s[2];
    float triplet = 0.0f;

    network_trial_open(&trial, &small, 4, N_NODES, 0, ETX_CPU_BEST);
    for (int32_t e = 0; e < 2; e++)
        u[e] = alone(&trial, src[e], dst[e]);
    network_problem_set_edges(&trial.problem, 2, src, dst, NULL, NULL);
    network_forward(s, trial.network, &trial.context, &trial.problem);
    ck_assert_ok(
        etx_stage_triplets(&line, trial.problem.graph, &trial.context, 10));
    ck_assert_int_eq(line->n_edges, 1);
    ck_assert_ok(trial.network->arch->forward_triplets(
        trial.network, &trial.context, &trial.problem.input, line, &triplet));
    ck_assert_int_eq(etx_arena_in_use(trial.context.stream->arena), 0);
    ck_assert(fabsf(s[0] - u[0]) > 1e-3f);
    ck_assert(fabsf((s[0] - u[0]) - (s[1] - u[1])) <= 1e-6f);
    ck_assert(fabsf(triplet - (s[0] + u[1])) <= 1e-6f);
}

/* A hit with two doublets in and two out has four triplets: one too many. */
ETX_TEST(test_triplets_limit)
{
    const int32_t src[] = {0, 1, 2, 2};
    const int32_t dst[] = {2, 2, 3, 4};
    scoped_trial trial;
    float out[3];

    network_trial_open(&trial, &small, 5, N_NODES, 0, ETX_CPU_BEST);
    network_problem_set_edges(&trial.problem, 3, src, dst, NULL, NULL);
    network_forward(out, trial.network, &trial.context, &trial.problem);
    network_problem_set_edges(&trial.problem, 4, src, dst, NULL, NULL);
    network_trial_refused(&trial, ETX_ERR_LIMIT, "'max_triplets' is 3");
    network_trial_refused(&trial, ETX_ERR_LIMIT, "4 edges between 4");
}
