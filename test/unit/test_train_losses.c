/* test_train_losses.c -- reductions, averages over graphs, chunks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/arena.h"
#include "train/objective/edge_loss.h"
#include "train/objective/momentum_loss.h"

#include "train_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"

#define N 5

/* Two true edges, two false ones, a masked one. */
static const float logit[N] = {0.5f, -1.0f, 2.0f, 0.25f, 3.0f};
static const float target[N] = {1.0f, 1.0f, 0.0f, 0.0f, 0.0f};
static const float weight[N] = {0.5f, 2.0f, 1.0f, 1.0f, 0.0f};
#define POSITIVE_WEIGHT 3.0

static double softplus(double x)
{
    return log1p(exp(x));
}

/* The loss of an edge by the logit x of the wrong label. */
static double edge_loss(double x, double gamma)
{
    return pow(1.0 / (1.0 + exp(-x)), gamma) * softplus(x);
}

/* By hand: weighted sums of the true and the false edges. */
static double by_hand(int32_t reduction, double gamma)
{
    const double true_sum = POSITIVE_WEIGHT * (0.5 * edge_loss(-0.5, gamma) +
                                                  2.0 * edge_loss(1.0, gamma));
    const double false_sum = edge_loss(2.0, gamma) + edge_loss(0.25, gamma);

    switch ((enum etx_reduction)reduction) {
    case ETX_REDUCTION_WEIGHTED_MEAN:
        return (true_sum + false_sum) / 4.5;
    case ETX_REDUCTION_MEAN:
        break;
    case ETX_REDUCTION_EQUAL:
        return true_sum / 2.0 + false_sum / 2.0;
    case ETX_REDUCTION_BALANCED:
        return (1.5 * true_sum + false_sum) / 5.0;
    }
    return (true_sum + false_sum) / 4.0;
}

/* Row i: a reduction, of the plain loss or the focal one. */
static struct etx_train_loss options_of(int i)
{
    return (struct etx_train_loss){.positive_weight = (float)POSITIVE_WEIGHT,
        .reduction = i % 4,
        .focal_gamma = i < 4 ? 0.0f : 2.0f};
}

static double loss_of(
    etx_context *context, int i, const float *logits, float *d_logit)
{
    const struct etx_train_loss options = options_of(i);
    const int32_t reduction = options.reduction;
    struct etx_loss_sums sums;
    float weights[N];
    double loss;

    memcpy(weights, weight, sizeof weights);
    sums = etx_edge_sums(N, target, weights);
    if (reduction == ETX_REDUCTION_BALANCED)
        sums.n_false += 1.0; /* of another graph: n_false / n_true = 3 / 2 */
    const struct etx_edge_norm norm = etx_edge_norm(&sums, reduction);
    ck_assert_ok(etx_edge_loss(
        &loss, d_logit, context, &options, &norm, N, logits, target, weights));
    return loss;
}

ETX_TEST(test_train_losses_reductions, .rows = 8)
{
    scoped_context *context = train_bench_context(1);
    float d_logit[N];
    const double loss = loss_of(context, _i, logit, d_logit);

    ck_assert_double_eq_tol(
        loss, by_hand(_i % 4, (double)options_of(_i).focal_gamma), 1e-6);
    for (int32_t e = 0; e < N; e++) {
        const float h = 0x1p-6f;
        float moved[N];

        memcpy(moved, logit, sizeof moved);
        moved[e] += h;
        const double above = loss_of(context, _i, moved, NULL);
        moved[e] -= 2.0f * h;
        const double below = loss_of(context, _i, moved, NULL);
        ck_assert_double_eq_tol(
            (above - below) / (2.0 * (double)h), (double)d_logit[e], 1e-4);
    }
}

/* Events in two parts give the loss of the whole. */
ETX_TEST(test_train_losses_totals, .rows = 8)
{
    const struct etx_train_loss options = options_of(_i);
    const int32_t reduction = options.reduction;
    scoped_context *context = train_bench_context(1);
    struct etx_edge_totals totals = {.n_true = 0.0};
    float weights[N];

    ck_assert(isnan(etx_edge_totals_loss(&totals, reduction)));
    memcpy(weights, weight, sizeof weights);
    ck_assert_ok(etx_edge_totals_add(
        &totals, context, &options, 2, logit, target, weights));
    ck_assert_ok(etx_edge_totals_add(
        &totals, context, &options, N - 2, logit + 2, target + 2, weights + 2));
    if (reduction == ETX_REDUCTION_BALANCED)
        totals.n_false += 1.0;
    ck_assert_double_eq_tol(etx_edge_totals_loss(&totals, reduction),
        by_hand(reduction, (double)options.focal_gamma), 1e-6);
}

/* The momentum of an edge's particle, which counts as 20 MeV where it is less.
 */
ETX_TEST(test_train_losses_momentum, .rows = 2)
{
    static const float pt[] = {2.0f, 0.021f, 0.019f, 0.001f, 0.0f};
    static const double expected[] = {2.0, 0.021, 0.02, 0.02, NAN};
    const struct etx_train_loss options = {
        .pt_target = _i == 0 ? ETX_PT_LOG : ETX_PT_INVERSE};
    scoped_arena *arena = NULL;
    etx_particle particle[N] = {{.id = 0}};
    int64_t id[N];
    int32_t node[N];
    float position[3 * N] = {0.0f};
    float all[N];
    float *out = NULL;
    struct etx_step_edges edges = {.n = N, .target = all, .weight = all};

    for (int32_t k = 0; k < N; k++) {
        position[3 * k] = 1.0f;
        particle[k] = (etx_particle){.id = k + 1, .momentum = {pt[k]}};
        id[k] = k + 1;
        node[k] = k;
        all[k] = 1.0f;
    }
    scoped_event *event = etx_test_event(N, position);
    scoped_graph *graph = NULL;
    ck_assert_ok(etx_event_set_truth(event, id, NULL, N, particle));
    ck_assert_ok(etx_graph_from_edges(&graph, N, N, node, node, NULL, NULL));
    ck_assert_ok(etx_arena_create(&arena, 0));
    ck_assert_ok(
        etx_pt_targets(&out, arena, &options, event, NULL, graph, &edges));
    for (int32_t k = 0; k < N - 1; k++)
        ck_assert_double_eq_tol((double)out[k],
            _i == 0 ? log(expected[k]) : 1.0 / expected[k], 1e-5);
    ck_assert(isnan(out[N - 1]));
}

/* ------------------------------------------------------- whole networks -- */

struct variant {
    int stage;
    const char *change;
};

static const struct variant variants[] = {
    {0, "{'loss': {'average': 'pairs', 'hinge': 'squared'}}"},
    {0, "{'loss': {'average': 'graphs'}}"},
    {0, "{'truth': {'same_particle': 'false', 'pairs': 'any'}, 'sampling': "
        "{'count_true_twice': true}}"},
    {1, "{'loss': {'reduction': 'equal', 'focal_gamma': 2}}"},
    {1, "{'loss': {'reduction': 'balanced', 'average': 'graphs'}, 'sampling': "
        "{'chunk_edges': 64}}"},
    {1, "{'loss': {'reduction': 'mean', 'hit_weight': 5}}"},
    {2, "{'loss': {'average': 'graphs', 'positive_weight': 3}, 'truth': "
        "{'same_particle': 'true'}}"},
    {2, "{'loss': {'focal_gamma': 1.5, 'reduction': 'balanced'}}"},
};

ETX_TEST(test_train_losses_gradient, .rows = ROWS(variants))
{
    scoped_bench bench =
        train_bench_new(variants[_i].stage, 1, variants[_i].change);
    train_bench_check_gradient(&bench, 2);
}

/* Whole events, nothing drawn: the loss of event k alone, and its weight. */
#define WHOLE                                                                  \
    "'sampling': {'hits': 0, 'edges': 0, 'false_per_true': 0}, "               \
    "'augmentation': {'reflect_y': false, 'reflect_z': false, 'rotate_phi': "  \
    "false}"

static double loss_alone(
    struct train_bench *bench, int k, struct etx_loss_sums *sums)
{
    struct etx_train_event **event = bench->trainer->training.event;
    const struct etx_graph *graph;
    double loss;

    ck_assert_ok(etx_event_graph(&graph, &bench->trainer->graphs, event[k]));
    *sums = (struct etx_loss_sums){.weight = 0.0};
    for (int64_t e = 0; e < graph->n_edges; e++) {
        float one_target;
        float one_weight;

        etx_truth_label(&one_target, &one_weight, &event[k]->truth,
            graph->src[e], graph->dst[e], &bench->trainer->config);
        const struct etx_loss_sums one =
            etx_edge_sums(1, &one_target, &one_weight);
        sums->n_true += one.n_true;
        sums->n_false += one.n_false;
        sums->weight += one.weight;
    }
    struct etx_train_event *first = event[0];
    event[0] = event[k];
    loss = train_bench_loss(bench, 1);
    event[0] = first;
    return loss;
}

/* Over edges the loss of two events is the mean with their weights, over
 * graphs the plain one. */
ETX_TEST(test_train_losses_averages, .rows = 2)
{
    static const char *const changes[] = {"{" WHOLE
                                          ", 'loss': {'average': 'pairs'}}",
        "{" WHOLE ", 'loss': {'average': 'graphs'}}"};
    struct etx_loss_sums sums[2];
    double loss[2];

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, changes[_i]);
    for (int k = 0; k < 2; k++)
        loss[k] = loss_alone(&bench, k, &sums[k]);
    ck_assert_double_ne(loss[0], loss[1]);
    ck_assert_double_ne(sums[0].weight, sums[1].weight);
    const double total = sums[0].weight + sums[1].weight;
    const double share = _i == 0 ? sums[0].weight / total : 0.5;
    ck_assert_double_eq_tol(train_bench_loss(&bench, 2),
        share * loss[0] + (1.0 - share) * loss[1], 1e-6);
}

/* A large event in pieces: the same loss and gradient, up to rounding. */
ETX_TEST(test_train_losses_chunks)
{
    double largest = 0.0;

    scoped_bench whole = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    scoped_bench parts = train_bench_new(
        ETX_TRAIN_FILTER, 1, "{'sampling': {'chunk_edges': 37}}");
    ck_assert_double_eq_tol(
        train_bench_loss(&whole, 1), train_bench_loss(&parts, 1), 1e-6);
    const int64_t n = whole.trainer->stage->network->n_values;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, fabs((double)whole.trainer->state.gradient[k]));
    ck_assert_double_gt(largest, 0.01);
    for (int64_t k = 0; k < n; k++)
        ck_assert_double_eq_tol((double)whole.trainer->state.gradient[k],
            (double)parts.trainer->state.gradient[k], 1e-5 * largest);
}
