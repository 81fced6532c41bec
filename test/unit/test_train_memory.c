/* test_train_memory.c -- training with latents kept in less memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "train_bench.h"

#include "stage/stage.h"
#include "train/sampling/edge_sampling.h"

#include <math.h>
#include <string.h>

#define DEEP "'model': {'options': {'hidden': 8, 'n_iterations': 5}}"
#define MEMORY(checkpointing, precision)                                       \
    "{" DEEP ", 'memory': {'checkpointing': " checkpointing                    \
    ", 'precision': '" precision "'}}"

/* The trainer after 20 steps; its arena's highest mark is of these alone. */
static struct train_bench train(const char *change)
{
    const struct train_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, change);

    etx_arena_reset_peak(bench.context->stream->arena);
    train_bench_steps(bench.trainer, 20);
    return bench;
}

static int64_t peak_of(const struct train_bench *bench)
{
    return etx_arena_peak(bench->context->stream->arena);
}

ETX_TEST(test_train_memory_checkpointing_same_bits)
{
    scoped_bench plain = train(MEMORY("false", "float32"));
    scoped_bench less = train(MEMORY("true", "float32"));
    ck_assert_same_state(plain.trainer, less.trainer);
    ck_assert_int_lt(peak_of(&less), peak_of(&plain));
}

/* The losses of validation agree within 1 % and so do the AUCs. */
ETX_TEST(test_train_memory_half_same_loss, .rows = 3)
{
    static const char *const half[] = {MEMORY("false", "bf16"),
        MEMORY("true", "bf16"), MEMORY("false", "fp16")};

    scoped_bench plain = train(MEMORY("false", "float32"));
    scoped_bench less = train(half[_i]);
    ck_assert_int_lt(peak_of(&less), peak_of(&plain));
    const etx_training_report expected = train_bench_validate(plain.trainer);
    const etx_training_report got = train_bench_validate(less.trainer);
    ck_assert_double_ne(got.loss, expected.loss);
    ck_assert_double_eq_tol(got.loss, expected.loss, 0.01 * expected.loss);
    ck_assert_double_eq_tol(got.auc, expected.auc, 0.01);
}

/* The embedding's trainer after 20 steps in a context with this limit. */
static struct train_bench train_within(int64_t memory_limit)
{
    struct train_bench bench;
    etx_context *context = etx_test_context_with(1, memory_limit, NULL, NULL);

    train_bench_open_in(&bench, context, ETX_TRAIN_EMBEDDING, NULL);
    etx_arena_reset_peak(context->stream->arena);
    train_bench_steps(bench.trainer, 20);
    return bench;
}

/* Under a limit the embedding keeps nothing of its forward: the same bits in
 * less memory. */
ETX_TEST(test_train_memory_embedding_same_bits)
{
    scoped_bench plain = train_within(0);
    scoped_bench less = train_within(INT64_C(1) << 30);
    ck_assert_same_state(plain.trainer, less.trainer);
    ck_assert_int_lt(peak_of(&less), peak_of(&plain));
}

/* ------------------------------------------------------ momentum head -- */

#define HEAD(options, loss)                                                    \
    "{'model': {'options': {'hidden': 8, 'n_iterations': 2, 'pt_layers': "     \
    "2" options "}}, 'loss': {'pt_weight': 0.3" loss "}}"

static const char *const heads[] = {HEAD("", ""),
    HEAD(", 'decoder_input': 'edge', 'edge_update': 'old'",
        ", 'pt_target': 'inverse', 'average': 'graphs'"),
    HEAD(", 'direction': 'doubled_mean'", ""),
    HEAD(", 'direction': 'doubled_first_half'", "")};

ETX_TEST(test_train_memory_pt_gradient, .rows = ROWS(heads))
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, heads[_i]);
    train_bench_check_gradient(&bench, 2);
}

/* The gradient of the head's own parameters alone: none but the momenta reach
 * them, so that their length grows with the weight of that loss. */
ETX_TEST(test_train_memory_pt_weight)
{
    double loss[2];

    scoped_bench one = train_bench_new(ETX_TRAIN_GNN, 1, heads[0]);
    scoped_bench two = train_bench_new(ETX_TRAIN_GNN, 1,
        "{'model': {'options': {'hidden': 8, 'n_iterations': 2, 'pt_layers': "
        "2}}, 'loss': {'pt_weight': 0.6}}");
    loss[0] = train_bench_loss(&one, 1);
    loss[1] = train_bench_loss(&two, 1);
    ck_assert_double_gt(loss[1], loss[0]);
    const struct etx_network *network = one.trainer->stage->network;
    int n_head = 0;
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const float *a = one.trainer->state.gradient + parameter->offset;
        const float *b = two.trainer->state.gradient + parameter->offset;

        if (strncmp(parameter->name, "pt_head.", 8) != 0)
            continue;
        n_head++;
        ck_assert_float_eq_tol(b[0], 2.0f * a[0], 1e-4f * fabsf(b[0]));
    }
    ck_assert_int_ge(n_head, 4);
}

/* The head is learnt: its part of the loss falls far below that of saying
 * nothing (the mean of ln(pT)^2 is 0.29 here). */
ETX_TEST(test_train_memory_pt_is_learnt)
{
    double before;
    double after;

    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1,
        "{'model': {'options': {'hidden': 8, 'n_iterations': 2, 'pt_layers': "
        "2}}, 'loss': {'pt_weight': 1000.0}, 'schedule': {'steps': 60}}");
    before = train_bench_loss(&bench, 2) / 1000.0;
    train_bench_steps(bench.trainer, 60);
    after = train_bench_loss(&bench, 2) / 1000.0;
    ck_assert_msg(after < 0.2 && after < 0.7 * before,
        "loss of momenta %g, then %g", before, after);
    const etx_training_report report = train_bench_validate(bench.trainer);
    ck_assert_msg(report.pt_error < report.pt_spread,
        "error %g on another event, spread %g", report.pt_error,
        report.pt_spread);
}

/* What the head says of the edges of the validation event, and their labels,
 * by the forward that a backward would follow. */
static void run_head(struct etx_edge_output *out, struct etx_step_edges *edges,
    const struct etx_graph **graph, struct train_bench *bench)
{
    struct etx_trainer *trainer = bench->trainer;
    struct etx_train_event *event = trainer->validation.event[0];
    struct etx_arena *arena = bench->context->stream->arena;
    const struct etx_network *network = trainer->stage->network;
    struct etx_network_input input = {.position = event->event->position};
    const struct etx_edge_sampler sampler = etx_trainer_edge_sampler(trainer);
    struct etx_tape tape = {NULL};

    ck_assert_ok(etx_event_graph(graph, &trainer->graphs, event));
    *edges = (struct etx_step_edges){.n = (*graph)->n_edges};
    ck_assert_ok(etx_arena_alloc(&out->logit, arena, edges->n, 4, "logits"));
    ck_assert_ok(etx_arena_alloc(&out->pt, arena, edges->n, 4, "momenta"));
    ck_assert_ok(etx_stage_node_features(
        &input.node_features, bench->context, trainer->stage, event->event));
    input.n_nodes = event->event->n_hits;
    input.graph = *graph;
    tape.pt = out->pt;
    ck_assert_ok(network->arch->forward(
        network, bench->context, &input, &tape, out->logit));
    ck_assert_ok(etx_step_edges_label(edges, &sampler, &event->truth, *graph));
}

/* ln(pT / GeV) of the particle of a hit. */
static double log_pt(const etx_event *event, int32_t hit)
{
    const float *p = event->particles[event->particle_row[hit]].momentum;

    return log(hypot((double)p[0], (double)p[1]));
}

/* Validation compares the momentum head with the truth of every edge. */
ETX_TEST(test_train_memory_pt_validation)
{
    const struct etx_graph *graph;
    struct etx_edge_output output;
    struct etx_step_edges edges;
    double n = 0.0;
    double miss = 0.0;
    double mean = 0.0;
    double square = 0.0;

    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, heads[0]);
    train_bench_steps(bench.trainer, 3);
    const etx_training_report report = train_bench_validate(bench.trainer);
    run_head(&output, &edges, &graph, &bench);
    for (int64_t e = 0; e < edges.n; e++) {
        if (edges.target[e] <= 0.0f || edges.weight[e] <= 0.0f)
            continue;
        const double value =
            log_pt(bench.trainer->validation.event[0]->event, graph->src[e]);

        n += 1.0;
        miss += pow((double)output.pt[e] - value, 2.0);
        mean += value;
        square += value * value;
    }
    ck_assert_double_gt(n, 100.0);
    mean /= n;
    ck_assert_double_eq_tol(report.pt_error, sqrt(miss / n), 1e-5);
    ck_assert_double_eq_tol(
        report.pt_spread, sqrt(square / n - mean * mean), 1e-5);
}

/* Without the head there is nothing to report. */
ETX_TEST(test_train_memory_pt_not_validated)
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    const etx_training_report report = train_bench_validate(bench.trainer);
    ck_assert(isnan(report.pt_error) && isnan(report.pt_spread));
    ck_assert(isfinite(report.loss));
}

/* A head comes after all other parameters: scores of a new network with and
 * without are the same bits, and the exported model has it. */
ETX_TEST(test_train_memory_pt_leaves_scores)
{
    scoped_model *model = NULL;

    scoped_bench without = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    scoped_bench with = train_bench_new(ETX_TRAIN_GNN, 1, heads[0]);
    const struct etx_network *a = without.trainer->stage->network;
    const struct etx_network *b = with.trainer->stage->network;
    ck_assert_int_gt(b->n_values, a->n_values);
    ck_assert_mem_eq(a->value, b->value, (size_t)a->n_values * sizeof(float));
    const double loss = train_bench_validate(without.trainer).loss;
    ck_assert_double_eq(train_bench_validate(with.trainer).loss, loss);
    ck_assert_ok(etx_trainer_model(&model, with.trainer));
    ck_assert_int_eq(model->gnn.network->has_pt_head, 1);
    ck_assert_mem_eq(model->gnn.network->value, b->value,
        (size_t)b->n_values * sizeof(float));
}
