/* test_cuda_parts.c -- parts of a graph, each in a context on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>

#include "device.h"
#include "rank_threads.h"
#include "train_bench.h"

#define N_PARTS        3
#define MAX_DIFFERENCE 1e-3

/* -------------------------------------------------------------- scores -- */

struct scoring {
    const struct device_job *both;
    int32_t *owners; /* [n_nodes] */
    float *scores;   /* [n_edges] of the whole graph */
};

/* An edge between two parts gets the same score from both. */
static void score_part(struct rank_thread *thread, void *argument)
{
    const struct scoring *scoring = argument;
    const struct device_job *both = scoring->both;
    scoped_context *device = device_context(__func__);
    scoped_part *part = NULL;

    ck_assert_ptr_nonnull(device);
    ck_assert_ok(etx_graph_part_create(
        &part, both->graph, scoring->owners, N_PARTS, thread->rank));
    const int64_t n_edges = etx_graph_n_edges(etx_graph_part_graph(part));
    const int32_t *const edge = etx_graph_part_edges(part);
    scoped float *own = etx_test_alloc(n_edges, sizeof *own);

    ck_assert_ok(etx_graph_part_score(
        own, part, device, both->model, both->event, &thread->exchange));
    for (int64_t e = 0; e < n_edges; e++)
        if (scoring->owners[etx_graph_dst(both->graph)[edge[e]]] ==
            thread->rank)
            scoring->scores[edge[e]] = own[e];
}

/* The scores of all parts are near the scores of the whole graph on the CPU,
 * and the same bits again. */
ETX_TEST(test_cuda_parts_scores)
{
    const etx_context_options options = device_options(ETX_PRECISION_FLOAT32);
    scoped_device_job both = {NULL};

    if (!device_job_make(&both, __func__, "event000000001", &options))
        return;
    device_job_filter(&both);
    const int64_t n_nodes = etx_graph_n_nodes(both.graph);
    const int64_t n_edges = etx_graph_n_edges(both.graph);
    scoped int32_t *owners = etx_test_alloc(n_nodes, sizeof *owners);
    scoped float *scores = etx_test_alloc(2 * n_edges, sizeof *scores);
    struct scoring scoring = {&both, owners, scores};

    ck_assert_ok(etx_graph_partition(
        owners, both.graph, both.event, N_PARTS, ETX_PARTITION_PHI));
    for (int32_t k = 0; k < 2; k++) {
        scoring.scores = scores + k * n_edges;
        rank_threads_run(N_PARTS, NULL, score_part, &scoring);
    }
    ck_assert_mem_eq(
        scores, scores + n_edges, (size_t)n_edges * sizeof *scores);
    ck_assert_ok(etx_graph_score(both.graph, both.cpu, both.model, both.event));
    for (int64_t e = 0; e < n_edges; e++)
        ck_assert_float_eq_tol(
            scores[e], etx_graph_scores(both.graph)[e], 1e-4f);
}

/* ------------------------------------------------------------ training -- */

struct training {
    const struct train_bench *cpu;
    int64_t n_values;
    double loss[N_PARTS];
    double auc[N_PARTS];
    float *gradient[N_PARTS]; /* [n_values] */
};

static void train_part(struct rank_thread *thread, void *argument)
{
    struct training *training = argument;
    struct train_bench bench = *training->cpu;
    float *gradient = training->gradient[thread->rank];

    bench.context = device_context(__func__);
    ck_assert_ptr_nonnull(bench.context);
    train_bench_add(&bench, ETX_TRAIN_GNN, NULL);
    ck_assert_ok(etx_trainer_set_parts(bench.trainer, N_PARTS, thread->rank,
        ETX_PARTITION_PHI, &thread->exchange));
    training->loss[thread->rank] = train_bench_loss(&bench, 2);
    ck_assert_ok(etx_memory_to_host(bench.context->stream->memory, gradient,
        bench.trainer->state.gradient, training->n_values, sizeof *gradient));
    training->auc[thread->rank] = train_bench_validate(bench.trainer).auc;
    train_bench_leave(&bench);
}

/* Loss and gradient of a step equal the whole graph on the CPU, on
 * every part the same bits; a validation finds what it finds there. */
ETX_TEST(test_cuda_parts_training)
{
    scoped_bench cpu = {NULL};
    struct training training = {.cpu = &cpu};
    float *expected;
    float max = 0.0f;
    scoped_context *device = device_context(__func__);

    if (device == NULL)
        return;
    cpu = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    training.n_values = cpu.trainer->stage->network->n_values;
    for (int32_t p = 0; p < N_PARTS; p++) {
        training.gradient[p] = calloc((size_t)training.n_values, sizeof(float));
        ck_assert_ptr_nonnull(training.gradient[p]);
    }
    const double loss = train_bench_loss(&cpu, 2);
    expected = cpu.trainer->state.gradient;
    rank_threads_run(N_PARTS, NULL, train_part, &training);
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
}
