/* test/conformance/test_conformance_convolution.c -- the propagation itself.
 *
 * With identities as weights the logits of a graph convolution are rows of
 * (D^-1/2 A D^-1/2)^k x, which are computed here in float64 from the dense
 * matrix of Kipf and Welling, equation 2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/cpu.h"

#include <math.h>
#include <string.h>

#include "case.h"

#define N_NODES      6
#define N_EDGES      7
#define N_FEATURES   2
#define N_ITERATIONS 3

static const int32_t src[N_EDGES] = {0, 0, 1, 0, 3, 1, 1};
static const int32_t dst[N_EDGES] = {1, 2, 2, 3, 2, 3, 3};

/* Node 5 has no edge, the edge from 1 to 3 is there twice. */
static void normalised(double matrix[N_NODES][N_NODES])
{
    double degree[N_NODES] = {0.0};

    memset(matrix, 0, sizeof(double[N_NODES][N_NODES]));
    for (int32_t i = 0; i < N_NODES; i++)
        matrix[i][i] = 1.0;
    for (int32_t e = 0; e < N_EDGES; e++) {
        matrix[src[e]][dst[e]] += 1.0;
        matrix[dst[e]][src[e]] += 1.0;
    }
    for (int32_t i = 0; i < N_NODES; i++)
        for (int32_t j = 0; j < N_NODES; j++)
            degree[i] += matrix[i][j];
    for (int32_t i = 0; i < N_NODES; i++)
        for (int32_t j = 0; j < N_NODES; j++)
            matrix[i][j] /= sqrt(degree[i] * degree[j]);
}

static void multiply(double x[N_NODES], double matrix[N_NODES][N_NODES])
{
    double product[N_NODES] = {0.0};

    for (int32_t i = 0; i < N_NODES; i++)
        for (int32_t j = 0; j < N_NODES; j++)
            product[i] += matrix[i][j] * x[j];
    memcpy(x, product, sizeof product);
}

/* Identities, and a head that reads feature 0 of the source and 100 times
 * feature 1 of the target. */
static void set_identities(struct etx_network *network)
{
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        float *value = network->value + parameter->offset;
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;

        memset(value, 0, (size_t)n * sizeof *value);
        if (parameter->is_vector)
            continue;
        value[0] = 1.0f;
        value[3] = parameter->n_rows == 1 ? 100.0f : 1.0f;
    }
}

ETX_TEST(test_convolution_propagates)
{
    const struct network_case which = {.name = "identity",
        .arch = "graph_convolution",
        .options = "{'encoder': false, 'residual': false,"
                   " 'norm': 'none', 'activation': 'none',"
                   " 'hidden': 2, 'n_iterations': 3,"
                   " 'decoder_hidden': []}",
        .n_node_features = N_FEATURES};
    scoped_trial trial;
    double matrix[N_NODES][N_NODES];
    double x[N_FEATURES][N_NODES];
    float out[N_EDGES];

    normalised(matrix);
    network_trial_open(&trial, &which, 1, N_NODES, 0, ETX_CPU_BEST);
    set_identities(trial.network);
    network_problem_set_edges(&trial.problem, N_EDGES, src, dst, NULL, NULL);
    for (int32_t k = 0; k < N_FEATURES; k++) {
        for (int32_t i = 0; i < N_NODES; i++)
            x[k][i] = (double)trial.problem.features[i * N_FEATURES + k];
        for (int32_t step = 0; step < N_ITERATIONS; step++)
            multiply(x[k], matrix);
    }
    network_forward(out, trial.network, &trial.context, &trial.problem);
    for (int32_t e = 0; e < N_EDGES; e++) {
        const struct etx_graph *graph = trial.problem.graph;
        const double expected =
            x[0][graph->src[e]] + 100.0 * x[1][graph->dst[e]];

        ck_assert_msg(fabs((double)out[e] - expected) <= 1e-4,
            "edge %d: %.9g, expected %.9g", (int)e, out[e], expected);
    }
}
