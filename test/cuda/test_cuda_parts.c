/* test_cuda_parts.c -- parts of a graph, each in a context on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>

#include "part_threads.h"
#include "support.h"
#include "train_bench.h"

#define N_PARTS        3
#define MAX_DIFFERENCE 1e-3

static etx_status try_device(etx_context **out)
{
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    options.precision = ETX_PRECISION_FLOAT32;
    return etx_context_create(out, &options);
}

/* 0 after etx_test_skip where there is no device. */
static int32_t has_device(const char *name)
{
    etx_context *context = NULL;

    if (try_device(&context) != ETX_OK) {
        etx_test_skip(name, etx_last_error());
        return 0;
    }
    etx_context_free(context);
    return 1;
}

/* -------------------------------------------------------------- scores -- */

struct scoring {
    etx_model *model;
    etx_event *event;
    etx_graph *graph;
    int32_t *owners; /* [n_nodes] */
    float *scores;   /* [n_edges] of the whole graph */
};

/* An edge between two parts gets the same score from both. */
static void score_part(struct part_thread *thread, void *argument)
{
    const struct scoring *scoring = argument;
    etx_context *device = NULL;
    etx_graph_part *part = NULL;
    int64_t n_edges;
    float *own;

    ck_assert_ok(try_device(&device));
    ck_assert_ok(etx_graph_part_create(
        &part, scoring->graph, scoring->owners, N_PARTS, thread->part));
    n_edges = etx_graph_n_edges(etx_graph_part_graph(part));
    own = calloc((size_t)n_edges, sizeof *own);
    ck_assert_ptr_nonnull(own);
    ck_assert_ok(etx_graph_part_score(
        own, part, device, scoring->model, scoring->event, &thread->exchange));
    for (int64_t e = 0; e < n_edges; e++)
        if (scoring->owners[etx_graph_dst(
                scoring->graph)[etx_graph_part_edges(part)[e]]] == thread->part)
            scoring->scores[etx_graph_part_edges(part)[e]] = own[e];
    free(own);
    etx_graph_part_free(part);
    etx_context_free(device);
}

static void open_scoring(struct scoring *scoring, etx_context *cpu)
{
    etx_graph *all = NULL;

    etx_test_open_example(&scoring->model, &scoring->event, "event000000001");
    ck_assert_ok(etx_graph_build(&all, cpu, scoring->model, scoring->event));
    ck_assert_ok(etx_graph_filter(
        &scoring->graph, all, cpu, scoring->model, scoring->event));
    etx_graph_free(all);
    scoring->owners = calloc(
        (size_t)etx_graph_n_nodes(scoring->graph), sizeof *scoring->owners);
    ck_assert_ptr_nonnull(scoring->owners);
    ck_assert_ok(etx_graph_partition(scoring->owners, scoring->graph,
        scoring->event, N_PARTS, ETX_PARTITION_PHI));
}

/* The scores of all parts are near the scores of the whole graph on the CPU,
 * and the same bits again. */
ETX_TEST(test_cuda_parts_scores)
{
    struct scoring scoring = {NULL};
    float *scores[2];
    etx_context *cpu = NULL;

    if (!has_device(__func__))
        return;
    ck_assert_ok(etx_context_create(&cpu, NULL));
    open_scoring(&scoring, cpu);
    const int64_t n_edges = etx_graph_n_edges(scoring.graph);
    const size_t bytes = (size_t)n_edges * sizeof(float);

    for (int32_t k = 0; k < 2; k++) {
        int64_t n_swaps[N_PARTS];

        scores[k] = calloc((size_t)n_edges, sizeof(float));
        ck_assert_ptr_nonnull(scores[k]);
        scoring.scores = scores[k];
        part_threads_run(N_PARTS, score_part, &scoring, n_swaps);
        ck_assert_int_gt(n_swaps[0], 3);
    }
    ck_assert_mem_eq(scores[0], scores[1], bytes);
    ck_assert_ok(
        etx_graph_score(scoring.graph, cpu, scoring.model, scoring.event));
    for (int64_t e = 0; e < n_edges; e++)
        ck_assert_float_eq_tol(
            scores[0][e], etx_graph_scores(scoring.graph)[e], 1e-4f);
    for (int32_t k = 0; k < 2; k++)
        free(scores[k]);
    free(scoring.owners);
    etx_graph_free(scoring.graph);
    etx_event_free(scoring.event);
    etx_model_free(scoring.model);
    etx_context_free(cpu);
}

/* ------------------------------------------------------------ training -- */

struct training {
    const struct train_bench *cpu;
    int64_t n_values;
    double loss[N_PARTS];
    double auc[N_PARTS];
    float *gradient[N_PARTS]; /* [n_values] */
};

static void train_part(struct part_thread *thread, void *argument)
{
    struct training *training = argument;
    struct train_bench bench = *training->cpu;
    float *gradient = training->gradient[thread->part];

    ck_assert_ok(try_device(&bench.context));
    train_bench_add(&bench, ETX_TRAIN_GNN, NULL);
    ck_assert_ok(etx_trainer_set_parts(bench.trainer, N_PARTS, thread->part,
        ETX_PARTITION_PHI, &thread->exchange));
    training->loss[thread->part] = train_bench_loss(&bench, 2);
    ck_assert_ok(etx_memory_to_host(bench.context->stream->memory, gradient,
        bench.trainer->state.gradient, training->n_values, sizeof *gradient));
    training->auc[thread->part] = train_bench_validate(bench.trainer).auc;
    train_bench_leave(&bench);
}

/* Loss and gradient of a step equal the whole graph on the CPU, on
 * every part the same bits; a validation finds what it finds there. */
ETX_TEST(test_cuda_parts_training)
{
    struct train_bench cpu;
    struct training training = {.cpu = &cpu};
    float *expected;
    float max = 0.0f;

    if (!has_device(__func__))
        return;
    cpu = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    training.n_values = cpu.trainer->stage->network->n_values;
    for (int32_t p = 0; p < N_PARTS; p++) {
        training.gradient[p] = calloc((size_t)training.n_values, sizeof(float));
        ck_assert_ptr_nonnull(training.gradient[p]);
    }
    const double loss = train_bench_loss(&cpu, 2);
    expected = cpu.trainer->state.gradient;
    part_threads_run(N_PARTS, train_part, &training, NULL);
    for (int64_t k = 0; k < training.n_values; k++)
        max = fmaxf(max, fabsf(expected[k]));
    ck_assert_float_gt(max, 0.0f);
    for (int32_t p = 0; p < N_PARTS; p++) {
        ck_assert_double_eq_tol(
            training.loss[p], loss, MAX_DIFFERENCE * fabs(loss));
        ck_assert_mem_eq(training.gradient[p], training.gradient[0],
            (size_t)training.n_values * sizeof(float));
    }
    for (int64_t k = 0; k < training.n_values; k++)
        ck_assert_float_eq_tol(
            training.gradient[0][k], expected[k], (float)MAX_DIFFERENCE * max);
    ck_assert_double_eq_tol(
        training.auc[0], train_bench_validate(cpu.trainer).auc, 0.01);
    for (int32_t p = 0; p < N_PARTS; p++)
        free(training.gradient[p]);
    train_bench_close(&cpu);
}
