/* test/conformance/network_fixture.c -- networks, inputs and contexts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static struct etx_edge_feature_list features_of(
    const struct network_case *which)
{
    static const float scale[] = {200.0f, 1.0f, 500.0f, 1.0f, 500.0f, 1.0f,
        3.0f, 2.0f, 2.0f, 0.01f, 3.0f, 4.0f, 5.0f, 3.0f, 3.0f, 2.0f, 1.0f};
    _Static_assert(ROWS(scale) == ETX_EDGE_OWN_0,
        "a scale for each of ETX_EDGE_FEATURES that is not the caller's");
    struct etx_edge_feature_list list = {.n_features = which->n_edge_features};

    for (int32_t k = 0; k < list.n_features; k++) {
        list.feature[k] = k;
        list.scale[k] = scale[k];
    }
    if (which->with_score) {
        list.feature[list.n_features] = ETX_EDGE_SCORE_LOGIT;
        list.scale[list.n_features] = scale[ETX_EDGE_SCORE_LOGIT];
        list.n_features++;
    }
    return list;
}

struct etx_json *network_json(const char *text)
{
    struct etx_json *object = NULL;

    if (text != NULL)
        ck_assert_ok(etx_json_parse(
            &object, "options", etx_test_json(text), strlen(text), 8));
    return object;
}

struct etx_network *network_make(
    const struct network_case *which, uint64_t seed)
{
    struct etx_network *network = NULL;
    const struct etx_edge_feature_list list = features_of(which);
    struct etx_json *options = network_json(which->options);
    const etx_status status = etx_network_create(
        &network, which->arch, which->n_node_features, &list, options);
    float *noise = NULL;

    ck_assert_msg(status == ETX_OK, "%s: %s", which->name, etx_last_error());
    etx_json_free(options);
    /* Gains and shifts away from one and zero, or they hide mistakes. */
    etx_network_init(network, seed);
    noise = network_randoms(network->n_values, seed + 1);
    for (int64_t v = 0; v < network->n_values; v++)
        network->value[v] += 0.2f * noise[v];
    free(noise);
    return network;
}

void network_problem_set_edges(struct network_problem *problem, int64_t n_edges,
    const int32_t *src, const int32_t *dst, const float *score, int64_t *order)
{
    struct etx_graph *graph = NULL;
    const etx_status status = etx_graph_from_edges(
        &graph, problem->input.n_nodes, n_edges, src, dst, score, order);

    ck_assert_msg(status == ETX_OK, "graph: %s", etx_last_error());
    etx_graph_free(problem->graph);
    problem->graph = graph;
    problem->input.graph = graph;
}

void network_problem_make(struct network_problem *problem, uint64_t seed,
    int64_t n_nodes, int64_t n_edges, int32_t n_features)
{
    scoped int32_t *ends = calloc((size_t)(2 * n_edges + 1), sizeof *ends);
    scoped float *score = calloc((size_t)n_edges + 1, sizeof *score);
    struct etx_random random;

    ck_assert(ends != NULL && score != NULL);
    problem->features = network_randoms(n_nodes * n_features, seed);
    problem->position = network_randoms(n_nodes * 3, seed + 1);
    for (int64_t v = 0; v < 3 * n_nodes; v++)
        problem->position[v] *= 500.0f;
    etx_random_init(&random, seed, 7, 7);
    for (int64_t e = 0; e < n_edges; e++) {
        const uint64_t n_ends = (uint64_t)n_nodes - 2;
        const uint64_t from = etx_random_below(&random, n_ends);
        const uint64_t step = etx_random_below(&random, n_ends - 1);

        ends[e] = 1 + (int32_t)from;
        ends[n_edges + e] = 1 + (int32_t)((from + 1 + step) % n_ends);
        score[e] = etx_random_uniform(&random);
    }
    problem->graph = NULL;
    problem->input = (struct etx_network_input){.n_nodes = n_nodes,
        .node_features = problem->features,
        .position = problem->position};
    network_problem_set_edges(
        problem, n_edges, ends, ends + n_edges, score, NULL);
}

void network_problem_free(struct network_problem *problem)
{
    free(problem->features);
    free(problem->position);
    etx_graph_free(problem->graph);
}

int64_t network_n_out(
    const struct etx_network *network, const struct network_problem *problem)
{
    if (network->arch->kind == ETX_NETWORK_EDGE)
        return problem->graph->n_edges;
    return problem->input.n_nodes * network->n_out;
}

void network_context_open(
    struct etx_context *context, int32_t n_threads, int32_t cpu_level)
{
    etx_status status = ETX_OK;

    memset(context, 0, sizeof *context);
    status =
        etx_context_options_init(&context->options, sizeof context->options);
    ck_assert_ok(status);
    context->options.n_threads = n_threads;
    context->options.cpu_level = cpu_level;
    status = etx_backend_open(context);
    ck_assert_msg(status == ETX_OK, "context: %s", etx_last_error());
}

void network_context_close(struct etx_context *context)
{
    etx_backend_close(context);
}

void network_trial_open(struct network_trial *trial,
    const struct network_case *which, uint64_t seed, int64_t n_nodes,
    int64_t n_edges, int32_t cpu_level)
{
    *trial = (struct network_trial){
        .which = *which, .network = network_make(which, seed)};
    network_problem_make(
        &trial->problem, 5, n_nodes, n_edges, which->n_node_features);
    network_context_open(&trial->context, 1, cpu_level);
    trial->n_out = network_n_out(trial->network, &trial->problem);
}

void network_trial_close(struct network_trial *trial)
{
    network_context_close(&trial->context);
    network_problem_free(&trial->problem);
    etx_network_free(trial->network);
}

void network_trial_refused(
    struct network_trial *trial, etx_status status, const char *text)
{
    scoped float *out =
        network_zeros(network_n_out(trial->network, &trial->problem));

    ck_assert_int_eq(trial->network->arch->forward(trial->network,
                         &trial->context, &trial->problem.input, NULL, out),
        status);
    ck_assert_msg(strstr(etx_last_error(), text) != NULL,
        "expected '%s' in '%s'", text, etx_last_error());
    ck_assert_int_eq(etx_arena_in_use(trial->context.stream->arena), 0);
}

/* The problem's input, with votes in the arena where the network wants them. */
static struct etx_network_input input_of(const struct etx_network *network,
    struct etx_context *context, const struct network_problem *problem)
{
    struct etx_network_input input = problem->input;
    const etx_status status =
        etx_network_votes(&input.votes, network, context, &input);

    ck_assert_msg(status == ETX_OK, "votes: %s", etx_last_error());
    return input;
}

void network_forward(float *out, const struct etx_network *network,
    struct etx_context *context, const struct network_problem *problem)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network_input input = input_of(network, context, problem);
    const int64_t before = etx_arena_in_use(arena);
    const etx_status status =
        network->arch->forward(network, context, &input, NULL, out);

    ck_assert_msg(status == ETX_OK, "%s: forward: %s", network->arch->name,
        etx_last_error());
    ck_assert_int_eq(etx_arena_in_use(arena), before);
    etx_arena_reset(arena, mark);
}

void network_backward(float *out, float *gradient,
    const struct etx_network *network, struct etx_context *context,
    const struct network_problem *problem, const float *d_out)
{
    network_backward_with(out, gradient, network, context, problem, d_out,
        (struct etx_tape){.state = NULL});
}

void network_backward_with(float *out, float *gradient,
    const struct etx_network *network, struct etx_context *context,
    const struct network_problem *problem, const float *d_out,
    struct etx_tape tape)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network_input input = input_of(network, context, problem);
    etx_status status =
        network->arch->forward(network, context, &input, &tape, out);
    int64_t before = 0;

    ck_assert_msg(status == ETX_OK, "%s: forward: %s", network->arch->name,
        etx_last_error());
    before = etx_arena_in_use(arena);
    status = network->arch->backward(
        network, context, &input, &tape, d_out, gradient);
    ck_assert_msg(status == ETX_OK, "%s: backward: %s", network->arch->name,
        etx_last_error());
    ck_assert_int_eq(etx_arena_in_use(arena), before);
    etx_arena_reset(arena, mark);
}

float *network_zeros(int64_t n)
{
    float *values = calloc((size_t)n + 1, sizeof *values);

    ck_assert(values != NULL);
    return values;
}

float *network_randoms(int64_t n, uint64_t seed)
{
    float *values = network_zeros(n);
    struct etx_random random;

    etx_random_init(&random, seed, 3, 0);
    for (int64_t v = 0; v < n; v++)
        values[v] = 2.0f * etx_random_uniform(&random) - 1.0f;
    return values;
}

void network_compute(struct network_result *result,
    const struct etx_network *network, const struct network_problem *problem,
    int32_t n_threads, int32_t level)
{
    const int64_t n_out = network_n_out(network, problem);
    scoped float *weight = network_randoms(n_out, 4);
    struct etx_context context;

    result->out = network_zeros(n_out);
    result->taped = network_zeros(n_out);
    result->gradient = network_zeros(network->n_values);
    network_context_open(&context, n_threads, level);
    network_forward(result->out, network, &context, problem);
    network_backward(
        result->taped, result->gradient, network, &context, problem, weight);
    network_context_close(&context);
}

void network_result_free(struct network_result *result)
{
    free(result->out);
    free(result->taped);
    free(result->gradient);
}

double network_largest_difference(const float *a, const float *b, int64_t n)
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
