/* test/conformance/test_conformance_networks.c -- what every network keeps.
 *
 * Gradients against finite differences, the same bits for any number of
 * threads, the SIMD operators against the reference, and graphs that are
 * empty, have isolated nodes or are numbered in another way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"
#include "support.h"

#include "base/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* ---------------------------------------------------------- gradients -- */

/* The loss sum_i weight_i out_i, with one parameter moved by step along
 * direction. */
struct probe {
    struct network_trial *trial;
    float *weight; /* [n_out] */
    float *out;    /* [n_out] scratch */
    float *kept;   /* [n_values] the network's own values */
};

static double loss_at(const struct probe *probe,
    const struct etx_parameter *parameter, const float *direction, float step)
{
    struct network_trial *trial = probe->trial;
    const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
    float *value = trial->network->value + parameter->offset;
    const float *kept = probe->kept + parameter->offset;

    for (int64_t v = 0; v < n; v++)
        value[v] = kept[v] + step * direction[v];
    network_forward(
        probe->out, trial->network, &trial->context, &trial->problem);
    memcpy(value, kept, (size_t)n * sizeof *value);
    return dot(probe->out, probe->weight, trial->n_out);
}

/* The derivative along direction, of fourth order in h. */
static double slope(const struct probe *probe,
    const struct etx_parameter *parameter, const float *direction, float h)
{
    const double near = loss_at(probe, parameter, direction, h) -
                        loss_at(probe, parameter, direction, -h);
    const double far = loss_at(probe, parameter, direction, 2.0f * h) -
                       loss_at(probe, parameter, direction, -2.0f * h);

    return (8.0 * near - far) / (12.0 * (double)h);
}

/* Every parameter array along a random direction of unit length: within 0.2 %
 * (2 % for networks with kinks) of the length of the array's gradient, plus
 * what float32 loses of the loss over a step. Measured: a quarter of that. */
static void check_gradient(const struct probe *probe)
{
    struct network_trial *trial = probe->trial;
    const struct network_case *which = &trial->which;
    const struct etx_network *network = trial->network;
    const float h = which->is_rough ? 2e-3f : 2e-2f;
    const double noise = 1e-6 * sqrt((double)trial->n_out) / (double)h;
    scoped float *gradient = network_zeros(network->n_values);

    network_backward(probe->out, gradient, network, &trial->context,
        &trial->problem, probe->weight);
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
        const float *array = gradient + parameter->offset;
        const double tolerance =
            (which->is_rough ? 0.02 : 0.002) * sqrt(dot(array, array, n)) +
            noise;
        scoped float *direction = network_randoms(n, 1000 + (uint64_t)p);
        const double norm = sqrt(dot(direction, direction, n));
        double measured = 0.0;
        double expected = 0.0;

        for (int64_t v = 0; v < n; v++)
            direction[v] = (float)(direction[v] / norm);
        measured = slope(probe, parameter, direction, h);
        expected = dot(array, direction, n);
        ck_assert_msg(fabs(measured - expected) <= tolerance,
            "%s (%s): %s: backward %.6g, finite differences %.6g, tolerance "
            "%.3g",
            which->arch, which->name, parameter->name, expected, measured,
            tolerance);
    }
}

ETX_TEST(test_networks_gradient, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_trial trial;
    struct probe probe = {.trial = &trial};

    network_trial_open(&trial, &which, 11, 14, 24, ETX_CPU_REF);
    probe.out = network_zeros(trial.n_out);
    probe.weight = network_randoms(trial.n_out, 3);
    probe.kept = network_zeros(trial.network->n_values);
    memcpy(probe.kept, trial.network->value,
        (size_t)trial.network->n_values * sizeof *probe.kept);
    check_gradient(&probe);
    free(probe.weight);
    free(probe.out);
    free(probe.kept);
}

/* The gradient is added to what the array holds. */
ETX_TEST(test_networks_gradient_adds, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_trial trial;
    float *sum[2], *out, *weight;
    int64_t n;

    network_trial_open(&trial, &which, 12, 12, 20, ETX_CPU_REF);
    n = trial.network->n_values;
    out = network_zeros(trial.n_out);
    weight = network_randoms(trial.n_out, 9);
    for (int32_t times = 1; times <= 2; times++) {
        sum[times - 1] = network_zeros(n);
        for (int32_t t = 0; t < times; t++)
            network_backward(out, sum[times - 1], trial.network, &trial.context,
                &trial.problem, weight);
    }
    for (int64_t v = 0; v < n; v++)
        sum[0][v] *= 2.0f;
    ck_assert(network_largest_difference(sum[0], sum[1], n) <=
              1e-4 * (1.0 + sqrt(dot(sum[0], sum[0], n))));
    free(sum[0]);
    free(sum[1]);
    free(out);
    free(weight);
}

/* -------------------------------------------------- threads and levels -- */

static void check_same(const struct network_case *which,
    const struct etx_network *network, const struct network_problem *problem,
    const struct network_result *a, const struct network_result *b)
{
    const size_t n_out = (size_t)network_n_out(network, problem);
    const size_t n = (size_t)network->n_values;

    ck_assert_msg(memcmp(a->out, b->out, n_out * sizeof *a->out) == 0,
        "%s (%s): scores differ", which->arch, which->name);
    ck_assert_msg(memcmp(a->gradient, b->gradient, n * sizeof(float)) == 0,
        "%s (%s): gradients differ", which->arch, which->name);
}

/* Same bits on repeat, with and without tape, for any number of threads. */
ETX_TEST(test_networks_threads, .rows = network_n_cases())
{
    static const int32_t n_threads[] = {1, 4};
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 13);
    scoped_problem problem;

    network_problem_make(&problem, 7, 200, 900, which.n_node_features);
    ETX_EACH_CPU_LEVEL (level) {
        scoped_result first;

        network_compute(&first, network, &problem, 1, level);
        ck_assert_msg(memcmp(first.out, first.taped,
                          (size_t)network_n_out(network, &problem) *
                              sizeof *first.out) == 0,
            "%s (%s): the tape changes scores", which.arch, which.name);
        for (size_t t = 0; t < sizeof n_threads / sizeof n_threads[0]; t++) {
            scoped_result other;

            network_compute(&other, network, &problem, n_threads[t], level);
            check_same(&which, network, &problem, &first, &other);
        }
    }
}

/* Scores within 2e-4 of the largest, gradients within 1e-3 of the length of
 * the array's gradient: float32 through up to a dozen layers, summed over
 * thousands of rows. */
static void check_level(const struct network_case *which,
    const struct etx_network *network, int64_t n_out,
    const struct network_result *expected, const struct network_result *got)
{
    double difference =
        network_largest_difference(expected->out, got->out, n_out);
    double largest = 1.0;

    for (int64_t i = 0; i < n_out; i++)
        largest = fmax(largest, fabs((double)expected->out[i]));
    ck_assert_msg(difference <= 2e-4 * largest,
        "%s (%s): scores differ by %.3g of %.3g", which->arch, which->name,
        difference, largest);
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
        const float *a = expected->gradient + parameter->offset;
        const float *b = got->gradient + parameter->offset;
        const double bound = 1e-3 * (1.0 + sqrt(dot(a, a, n)));

        difference = network_largest_difference(a, b, n);
        ck_assert_msg(difference <= bound,
            "%s (%s): gradient of %s differs by %.3g, bound %.3g", which->arch,
            which->name, parameter->name, difference, bound);
    }
}

ETX_TEST(test_networks_levels, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 14);
    scoped_problem problem;
    scoped_result expected;

    network_problem_make(&problem, 8, 200, 900, which.n_node_features);
    network_compute(&expected, network, &problem, 1, ETX_CPU_REF);
    ETX_EACH_CPU_LEVEL (level) {
        scoped_result got;

        network_compute(&got, network, &problem, 1, level);
        check_level(
            &which, network, network_n_out(network, &problem), &expected, &got);
    }
}

/* ------------------------------------------------------------- graphs -- */

/* No nodes, no edges, one node, and one edge between two nodes. */
ETX_TEST(test_networks_small_graphs, .rows = network_n_cases())
{
    static const int64_t sizes[][2] = {{0, 0}, {1, 0}, {5, 0}, {4, 1}};
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 15);

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        scoped_problem problem;
        scoped_result result;

        network_problem_make(
            &problem, 9, sizes[s][0], sizes[s][1], which.n_node_features);
        network_compute(&result, network, &problem, 1, ETX_CPU_BEST);
        for (int64_t i = 0; i < network_n_out(network, &problem); i++)
            ck_assert(isfinite(result.out[i]));
        for (int64_t v = 0; v < network->n_values; v++) {
            ck_assert(isfinite(result.gradient[v]));
            if (network_n_out(network, &problem) == 0)
                ck_assert(result.gradient[v] == 0.0f);
        }
    }
}

/* The same edges among more nodes: the scores keep their bits. */
ETX_TEST(test_networks_isolated_nodes, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 16);
    scoped_problem small;
    scoped_problem large;
    scoped_result a;
    scoped_result b;
    const int64_t n_more = 20;
    const int64_t n_nodes = 40;
    const size_t width = (size_t)which.n_node_features;

    network_problem_make(&small, 10, n_nodes, 90, which.n_node_features);
    network_problem_make(
        &large, 10, n_nodes + n_more, 0, which.n_node_features);
    network_problem_set_edges(&large, small.graph->n_edges, small.graph->src,
        small.graph->dst, small.graph->score, NULL);
    memcpy(large.features, small.features,
        (size_t)n_nodes * width * sizeof(float));
    memcpy(large.position, small.position, (size_t)n_nodes * 3 * sizeof(float));
    network_compute(&a, network, &small, 1, ETX_CPU_BEST);
    network_compute(&b, network, &large, 1, ETX_CPU_BEST);
    for (int64_t i = 0; i < network_n_out(network, &small); i++)
        ck_assert(which.is_global || a.out[i] == b.out[i]);
}

/* Nodes numbered backwards: every edge keeps its score, but sums run in
 * another order. */
static void reverse(struct network_problem *out, int64_t *order,
    const struct network_problem *problem, int32_t n_features)
{
    const struct etx_graph *graph = problem->graph;
    const int64_t n = problem->input.n_nodes;
    scoped int32_t *src = etx_test_alloc(graph->n_edges, sizeof *src);
    scoped int32_t *dst = etx_test_alloc(graph->n_edges, sizeof *dst);

    network_problem_make(out, 1, n, 0, n_features);
    for (int64_t i = 0; i < n; i++) {
        memcpy(out->features + i * n_features,
            problem->features + (n - 1 - i) * n_features,
            (size_t)n_features * sizeof(float));
        memcpy(out->position + 3 * i, problem->position + 3 * (n - 1 - i),
            3 * sizeof(float));
    }
    for (int64_t e = 0; e < graph->n_edges; e++) {
        src[e] = (int32_t)(n - 1 - graph->src[e]);
        dst[e] = (int32_t)(n - 1 - graph->dst[e]);
    }
    network_problem_set_edges(
        out, graph->n_edges, src, dst, graph->score, order);
}

ETX_TEST(test_networks_permuted, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 17);
    scoped_problem problem = {.features = NULL};
    scoped_problem reversed = {.features = NULL};
    scoped_result a = {NULL};
    scoped_result b = {NULL};
    int64_t order[200];
    double largest = 1.0;

    if (network->arch->kind == ETX_NETWORK_POINT)
        return;
    network_problem_make(&problem, 18, 60, 200, which.n_node_features);
    reverse(&reversed, order, &problem, which.n_node_features);
    network_compute(&a, network, &problem, 1, ETX_CPU_BEST);
    network_compute(&b, network, &reversed, 1, ETX_CPU_BEST);
    for (int64_t e = 0; e < 200; e++)
        largest = fmax(largest, fabs((double)a.out[e]));
    for (int64_t e = 0; e < 200; e++) {
        ck_assert_msg(
            fabs((double)b.out[e] - (double)a.out[order[e]]) <= 2e-4 * largest,
            "%s (%s): %.9g and %.9g", which.arch, which.name, b.out[e],
            a.out[order[e]]);
    }
}

/* A requested family that does not exist would else test nothing. */
ETX_TEST(test_networks_any)
{
    ck_assert_int_gt(network_n_cases(), 0);
}
