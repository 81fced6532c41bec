/* test/conformance/test_conformance_networks.c -- what every network keeps.
 *
 * Gradients against finite differences, the same bits for any number of
 * threads, the SIMD operators against the reference, and graphs that are
 * empty, have isolated nodes or are numbered in another way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/cpu.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *etx_suite_conformance_networks(void);

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static double largest_difference(const float *a, const float *b, int64_t n)
{
    double largest = 0.0;

    for (int64_t i = 0; i < n; i++) {
        const double difference = fabs((double)a[i] - (double)b[i]);

        ck_assert_msg(isfinite(a[i]) && isfinite(b[i]), "value %d", (int)i);
        if (difference > largest)
            largest = difference;
    }
    return largest;
}

/* ---------------------------------------------------------- gradients -- */

/* The loss sum_i weight_i out_i, with one parameter moved by step along
 * direction. */
struct probe {
    struct etx_network *network;
    struct etx_context *context;
    const struct network_problem *problem;
    const float *weight; /* [n_out] */
    float *out;          /* [n_out] scratch */
    float *kept;         /* [n_values] the network's own values */
    int64_t n_out;
};

static double loss_at(const struct probe *probe,
    const struct etx_parameter *parameter, const float *direction, float step)
{
    const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
    float *value = probe->network->value + parameter->offset;
    const float *kept = probe->kept + parameter->offset;
    double loss = 0.0;

    for (int64_t v = 0; v < n; v++)
        value[v] = kept[v] + step * direction[v];
    network_forward(
        probe->out, probe->network, probe->context, probe->problem);
    loss = dot(probe->out, probe->weight, probe->n_out);
    memcpy(value, kept, (size_t)n * sizeof *value);
    return loss;
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
static void check_gradient(
    const struct network_case *which, const struct probe *probe)
{
    const struct etx_network *network = probe->network;
    const float h = which->is_rough ? 2e-3f : 2e-2f;
    float *gradient = network_zeros(network->n_values);

    network_backward(probe->out, gradient, network, probe->context,
        probe->problem, probe->weight);
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
        const float *array = gradient + parameter->offset;
        const double length = sqrt(dot(array, array, n));
        const double noise =
            1e-6 * sqrt((double)probe->n_out) / (double)h;
        const double tolerance =
            (which->is_rough ? 0.02 : 0.002) * length + noise;
        float *direction = network_randoms(n, 1000 + (uint64_t)p);
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
        free(direction);
    }
    free(gradient);
}

START_TEST(test_networks_gradient)
{
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 11);
    struct network_problem problem;
    struct etx_context context;
    struct probe probe = {.network = network, .problem = &problem};

    network_problem_make(&problem, 5, 14, 24, which.n_node_features);
    network_context_open(&context, 1, ETX_CPU_REF);
    probe.context = &context;
    probe.n_out = network_n_out(network, &problem);
    probe.out = network_zeros(probe.n_out);
    probe.weight = network_randoms(probe.n_out, 3);
    probe.kept = network_zeros(network->n_values);
    memcpy(probe.kept, network->value,
        (size_t)network->n_values * sizeof *probe.kept);
    check_gradient(&which, &probe);
    free((float *)(uintptr_t)probe.weight);
    free(probe.out);
    free(probe.kept);
    network_context_close(&context);
    network_problem_free(&problem);
    etx_network_free(network);
}
END_TEST

/* The gradient is added to what is there. */
START_TEST(test_networks_gradient_adds)
{
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 12);
    const int64_t n = network->n_values;
    struct network_problem problem;
    struct etx_context context;
    float *once = network_zeros(n);
    float *twice = network_zeros(n);
    float *out = NULL;
    float *weight = NULL;

    network_problem_make(&problem, 6, 12, 20, which.n_node_features);
    network_context_open(&context, 1, ETX_CPU_REF);
    out = network_zeros(network_n_out(network, &problem));
    weight = network_randoms(network_n_out(network, &problem), 9);
    network_backward(out, once, network, &context, &problem, weight);
    network_backward(out, twice, network, &context, &problem, weight);
    network_backward(out, twice, network, &context, &problem, weight);
    for (int64_t v = 0; v < n; v++)
        once[v] *= 2.0f;
    ck_assert(largest_difference(once, twice, n) <=
              1e-4 * (1.0 + sqrt(dot(once, once, n))));
    free(once);
    free(twice);
    free(out);
    free(weight);
    network_context_close(&context);
    network_problem_free(&problem);
    etx_network_free(network);
}
END_TEST

/* -------------------------------------------------- threads and levels -- */

struct result {
    float *out, *taped, *gradient;
};

static void compute(struct result *result, const struct etx_network *network,
    const struct network_problem *problem, int32_t n_threads, int32_t level)
{
    const int64_t n_out = network_n_out(network, problem);
    float *weight = network_randoms(n_out, 4);
    struct etx_context context;

    result->out = network_zeros(n_out);
    result->taped = network_zeros(n_out);
    result->gradient = network_zeros(network->n_values);
    network_context_open(&context, n_threads, level);
    network_forward(result->out, network, &context, problem);
    network_backward(result->taped, result->gradient, network, &context,
        problem, weight);
    network_context_close(&context);
    free(weight);
}

static void result_free(struct result *result)
{
    free(result->out);
    free(result->taped);
    free(result->gradient);
}

static void check_same(const struct network_case *which,
    const struct etx_network *network, const struct network_problem *problem,
    const struct result *a, const struct result *b)
{
    const size_t n_out = (size_t)network_n_out(network, problem);
    const size_t n = (size_t)network->n_values;

    ck_assert_msg(memcmp(a->out, b->out, n_out * sizeof *a->out) == 0,
        "%s (%s): scores differ", which->arch, which->name);
    ck_assert_msg(memcmp(a->gradient, b->gradient, n * sizeof(float)) == 0,
        "%s (%s): gradients differ", which->arch, which->name);
}

/* Same bits on repeat, with and without tape, for any number of threads. */
START_TEST(test_networks_threads)
{
    static const int32_t n_threads[] = {1, 2, 5};
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 13);
    struct network_problem problem;

    network_problem_make(&problem, 7, 200, 900, which.n_node_features);
    for (int32_t level = ETX_CPU_REF; level <= etx_cpu_level(); level++) {
        struct result first;

        compute(&first, network, &problem, 1, level);
        ck_assert_msg(
            memcmp(first.out, first.taped,
                (size_t)network_n_out(network, &problem) *
                    sizeof *first.out) == 0,
            "%s (%s): the tape changes scores", which.arch, which.name);
        for (size_t t = 0; t < sizeof n_threads / sizeof n_threads[0]; t++) {
            struct result other;

            compute(&other, network, &problem, n_threads[t], level);
            check_same(&which, network, &problem, &first, &other);
            result_free(&other);
        }
        result_free(&first);
    }
    network_problem_free(&problem);
    etx_network_free(network);
}
END_TEST

/* Scores within 2e-4 of the largest, gradients within 1e-3 of the length of
 * the array's gradient: float32 through up to a dozen layers, summed over
 * thousands of rows. */
static void check_level(const struct network_case *which,
    const struct etx_network *network, int64_t n_out,
    const struct result *expected, const struct result *got)
{
    double largest = 1.0;

    for (int64_t i = 0; i < n_out; i++)
        largest = fmax(largest, fabs((double)expected->out[i]));
    ck_assert_msg(
        largest_difference(expected->out, got->out, n_out) <= 2e-4 * largest,
        "%s (%s): scores differ by %.3g of %.3g", which->arch, which->name,
        largest_difference(expected->out, got->out, n_out), largest);
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
        const float *a = expected->gradient + parameter->offset;
        const float *b = got->gradient + parameter->offset;
        const double bound = 1e-3 * (1.0 + sqrt(dot(a, a, n)));

        ck_assert_msg(largest_difference(a, b, n) <= bound,
            "%s (%s): gradient of %s differs by %.3g, bound %.3g", which->arch,
            which->name, parameter->name, largest_difference(a, b, n), bound);
    }
}

START_TEST(test_networks_levels)
{
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 14);
    struct network_problem problem;
    struct result expected;

    network_problem_make(&problem, 8, 200, 900, which.n_node_features);
    compute(&expected, network, &problem, 1, ETX_CPU_REF);
    for (int32_t level = ETX_CPU_REF + 1; level <= etx_cpu_level(); level++) {
        struct result got;

        compute(&got, network, &problem, 1, level);
        check_level(&which, network, network_n_out(network, &problem),
            &expected, &got);
        result_free(&got);
    }
    result_free(&expected);
    network_problem_free(&problem);
    etx_network_free(network);
}
END_TEST

/* ------------------------------------------------------------- graphs -- */

/* No nodes, no edges, one node, and one edge between two nodes. */
START_TEST(test_networks_small_graphs)
{
    static const int64_t sizes[][2] = {{0, 0}, {1, 0}, {5, 0}, {4, 1}};
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 15);

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct network_problem problem;
        struct result result;

        network_problem_make(
            &problem, 9, sizes[s][0], sizes[s][1], which.n_node_features);
        compute(&result, network, &problem, 1, ETX_CPU_BEST);
        for (int64_t i = 0; i < network_n_out(network, &problem); i++)
            ck_assert(isfinite(result.out[i]));
        for (int64_t v = 0; v < network->n_values; v++) {
            ck_assert(isfinite(result.gradient[v]));
            if (network_n_out(network, &problem) == 0)
                ck_assert(result.gradient[v] == 0.0f);
        }
        result_free(&result);
        network_problem_free(&problem);
    }
    etx_network_free(network);
}
END_TEST

/* The same edges among more nodes: the scores keep their bits. */
START_TEST(test_networks_isolated_nodes)
{
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 16);
    struct network_problem small;
    struct network_problem large;
    struct result a;
    struct result b;
    const int64_t n_more = 20;
    const int64_t n_nodes = 40;
    const size_t width = (size_t)which.n_node_features;
    etx_status status = ETX_OK;

    network_problem_make(&small, 10, n_nodes, 90, which.n_node_features);
    network_problem_make(
        &large, 10, n_nodes + n_more, 0, which.n_node_features);
    etx_graph_free(large.graph);
    status = etx_graph_from_edges(&large.graph, n_nodes + n_more,
        small.graph->n_edges, small.graph->src, small.graph->dst,
        small.graph->score, NULL);
    ck_assert_int_eq(status, ETX_OK);
    large.input.graph = large.graph;
    memcpy(large.features, small.features,
        (size_t)n_nodes * width * sizeof(float));
    memcpy(large.position, small.position,
        (size_t)n_nodes * 3 * sizeof(float));
    compute(&a, network, &small, 1, ETX_CPU_BEST);
    compute(&b, network, &large, 1, ETX_CPU_BEST);
    for (int64_t i = 0; i < network_n_out(network, &small); i++)
        ck_assert(which.is_global || a.out[i] == b.out[i]);
    result_free(&a);
    result_free(&b);
    network_problem_free(&small);
    network_problem_free(&large);
    etx_network_free(network);
}
END_TEST

/* Nodes numbered backwards: every edge keeps its score, but sums run in
 * another order. */
static void reverse(struct network_problem *out, int64_t *order,
    const struct network_problem *problem, int32_t n_features)
{
    const struct etx_graph *graph = problem->graph;
    const int64_t n = problem->input.n_nodes;
    int32_t *src = calloc((size_t)graph->n_edges, sizeof *src);
    int32_t *dst = calloc((size_t)graph->n_edges, sizeof *dst);
    etx_status status = ETX_OK;

    network_problem_make(out, 1, n, 0, n_features);
    etx_graph_free(out->graph);
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
    status = etx_graph_from_edges(
        &out->graph, n, graph->n_edges, src, dst, graph->score, order);
    ck_assert_int_eq(status, ETX_OK);
    out->input.graph = out->graph;
    free(src);
    free(dst);
}

START_TEST(test_networks_permuted)
{
    const struct network_case which = network_case_at(_i);
    struct etx_network *network = network_make(&which, 17);
    struct network_problem problem;
    struct network_problem reversed;
    struct result a;
    struct result b;
    int64_t order[200];
    double largest = 1.0;

    if (network->arch->kind == ETX_NETWORK_POINT) {
        etx_network_free(network);
        return;
    }
    network_problem_make(&problem, 18, 60, 200, which.n_node_features);
    reverse(&reversed, order, &problem, which.n_node_features);
    compute(&a, network, &problem, 1, ETX_CPU_BEST);
    compute(&b, network, &reversed, 1, ETX_CPU_BEST);
    for (int64_t e = 0; e < 200; e++)
        largest = fmax(largest, fabs((double)a.out[e]));
    for (int64_t e = 0; e < 200; e++) {
        ck_assert_msg(
            fabs((double)b.out[e] - (double)a.out[order[e]]) <= 2e-4 * largest,
            "%s (%s): %.9g and %.9g", which.arch, which.name, b.out[e],
            a.out[order[e]]);
    }
    result_free(&a);
    result_free(&b);
    network_problem_free(&problem);
    network_problem_free(&reversed);
    etx_network_free(network);
}
END_TEST

/* More edges than a block of the filter: the scores of the last edges are
 * those that they have in a graph of their own. */
START_TEST(test_networks_filter_blocks)
{
    const struct network_case which = {.name = "blocks",
        .arch = "edge_filter",
        .options = "{\"hidden\": [4]}",
        .n_node_features = 2,
        .n_edge_features = 3};
    const int64_t n_edges = 140000;
    const int64_t n_last = 100;
    struct etx_network *network = network_make(&which, 19);
    struct network_problem all;
    struct network_problem last;
    struct result a;
    struct result b;
    etx_status status = ETX_OK;

    network_problem_make(&all, 20, 900, n_edges, 2);
    network_problem_make(&last, 20, 900, 0, 2);
    etx_graph_free(last.graph);
    status = etx_graph_from_edges(&last.graph, 900, n_last,
        all.graph->src + n_edges - n_last, all.graph->dst + n_edges - n_last,
        NULL, NULL);
    ck_assert_int_eq(status, ETX_OK);
    last.input.graph = last.graph;
    compute(&a, network, &all, 2, ETX_CPU_BEST);
    compute(&b, network, &last, 1, ETX_CPU_BEST);
    ck_assert(
        largest_difference(a.out + n_edges - n_last, b.out, n_last) <= 1e-5);
    result_free(&a);
    result_free(&b);
    network_problem_free(&all);
    network_problem_free(&last);
    etx_network_free(network);
}
END_TEST

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
    struct result result;
    float *out = network_zeros(2 * n);

    (void)snprintf(options, sizeof options,
        "{\"hidden\": 6, \"n_iterations\": 2, \"direction\": \"%s\"}",
        direction);
    network = network_make(&which, 23);
    memcpy(src, graph->src, bytes);
    memcpy(src + n, graph->dst, bytes);
    memcpy(dst, graph->dst, bytes);
    memcpy(dst + n, graph->src, bytes);
    memcpy(score, graph->score, bytes);
    memcpy(score + n, graph->score, bytes);
    ck_assert_int_eq(etx_graph_from_edges(&run.graph, run.input.n_nodes, n_run,
                         src, dst, score, order),
        ETX_OK);
    run.input.graph = run.graph;
    compute(&result, network, &run, 1, ETX_CPU_BEST);
    for (int64_t e = 0; e < n_run; e++)
        out[order[e]] = result.out[e];
    result_free(&result);
    etx_graph_free(run.graph);
    etx_network_free(network);
    free(src);
    free(dst);
    free(score);
    free(order);
    return out;
}

/* Doubling is what a directed run over both ways of every edge gives. */
START_TEST(test_networks_doubled)
{
    const int64_t n = 80;
    struct network_problem problem;
    float *both = NULL;
    float *first_half = NULL;
    float *mean = NULL;

    network_problem_make(&problem, 24, 30, n, 3);
    both = score_as("directed", &problem, 1);
    first_half = score_as("doubled_first_half", &problem, 0);
    mean = score_as("doubled_mean", &problem, 0);
    for (int64_t e = 0; e < n; e++) {
        const float expected = 0.5f * (both[e] + both[n + e]);

        ck_assert(fabsf(first_half[e] - both[e]) <= 1e-5f);
        ck_assert(fabsf(mean[e] - expected) <= 1e-5f);
    }
    free(both);
    free(first_half);
    free(mean);
    network_problem_free(&problem);
}
END_TEST

/* In inference at most three latents of all edges are alive. */
START_TEST(test_networks_memory)
{
    const struct network_case which = {.name = "memory",
        .arch = "interaction_network",
        .options = "{\"hidden\": 32, \"n_iterations\": 4}",
        .n_node_features = 4,
        .n_edge_features = 9};
    const int64_t n_edges = 40000;
    struct etx_network *network = network_make(&which, 25);
    struct network_problem problem;
    struct etx_context context;
    float *out = network_zeros(n_edges);

    network_problem_make(&problem, 26, 500, n_edges, 4);
    network_context_open(&context, 1, ETX_CPU_BEST);
    network_forward(out, network, &context, &problem);
    ck_assert_int_lt(etx_arena_peak(context.stream->arena),
        3 * n_edges * 32 * (int64_t)sizeof(float));
    network_context_close(&context);
    network_problem_free(&problem);
    etx_network_free(network);
    free(out);
}
END_TEST

/* A family that is asked for and not there would else test nothing. */
START_TEST(test_networks_any)
{
    ck_assert_int_gt(network_n_cases(), 0);
}
END_TEST

static int32_t answer_stop(void *user)
{
    (void)user;
    return 1;
}

/* A host that says stop gets its thread back. */
START_TEST(test_networks_cancel)
{
    const struct network_case which = {.name = "cancel",
        .arch = "interaction_network",
        .options = "{\"hidden\": 4}",
        .n_node_features = 2};
    struct etx_network *network = network_make(&which, 21);
    struct network_problem problem;
    struct etx_context context;
    float out[30];
    etx_status status = ETX_OK;

    network_problem_make(&problem, 22, 20, 30, 2);
    network_context_open(&context, 1, ETX_CPU_BEST);
    context.stream->cancel = answer_stop;
    status = network->arch->forward(
        network, &context, &problem.input, NULL, out);
    ck_assert_int_eq(status, ETX_ERR_CANCELLED);
    ck_assert_int_eq(etx_arena_in_use(context.stream->arena), 0);
    network_context_close(&context);
    network_problem_free(&problem);
    etx_network_free(network);
}
END_TEST

Suite *etx_suite_conformance_networks(void)
{
    Suite *suite = suite_create("conformance_networks");
    TCase *each = tcase_create("each network");
    TCase *some = tcase_create("some networks");
    const int32_t n = network_n_cases();

    tcase_set_timeout(each, 60);
    tcase_add_loop_test(each, test_networks_gradient, 0, n);
    tcase_add_loop_test(each, test_networks_gradient_adds, 0, n);
    tcase_add_loop_test(each, test_networks_threads, 0, n);
    tcase_add_loop_test(each, test_networks_levels, 0, n);
    tcase_add_loop_test(each, test_networks_small_graphs, 0, n);
    tcase_add_loop_test(each, test_networks_isolated_nodes, 0, n);
    tcase_add_loop_test(each, test_networks_permuted, 0, n);
    suite_add_tcase(suite, each);
    tcase_set_timeout(some, 60);
    tcase_add_test(some, test_networks_any);
    tcase_add_test(some, test_networks_filter_blocks);
    tcase_add_test(some, test_networks_doubled);
    tcase_add_test(some, test_networks_memory);
    tcase_add_test(some, test_networks_cancel);
    suite_add_tcase(suite, some);
    return suite;
}
