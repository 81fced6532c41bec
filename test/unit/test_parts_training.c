/* test_parts_training.c -- training on the parts of a graph, one
 * thread per part.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>

#include "part_threads.h"
#include "support.h"
#include "train_bench.h"

struct training {
    struct train_bench bench[PART_THREADS_MAX];
    int32_t n_parts, stage;
    double loss[PART_THREADS_MAX], norm[PART_THREADS_MAX];
    double validation[PART_THREADS_MAX];
};

/* Three steps, of which loss and gradient of the first are looked at. */
static void train_part(struct part_thread *thread, void *argument)
{
    struct training *training = argument;
    etx_trainer *trainer = training->bench[thread->part].trainer;
    etx_training_report report = {.struct_size = sizeof report};

    ck_assert_ok(etx_trainer_set_parts(trainer, training->n_parts, thread->part,
        ETX_PARTITION_PHI, &thread->exchange));
    ck_assert_ok(etx_trainer_step(trainer, &report));
    training->loss[thread->part] = report.loss;
    training->norm[thread->part] = report.gradient_norm;
    train_bench_steps(trainer, 2);
    training->validation[thread->part] = train_bench_validate(trainer).loss;
}

static const float *values_of(const struct train_bench *bench)
{
    return bench->trainer->stage->network->value;
}

static int64_t count_values(const struct train_bench *bench)
{
    return bench->trainer->stage->network->n_values;
}

static void assert_near(double a, double b, double tolerance)
{
    ck_assert_msg(
        fabs(a - b) <= tolerance * fabs(b), "%.9g and not %.9g", a, b);
}

static void check_training(
    const struct training *training, struct train_bench *alone)
{
    etx_training_report report = {.struct_size = sizeof report};
    const size_t bytes = (size_t)count_values(alone) * sizeof(float);
    double validation;

    ck_assert_ok(etx_trainer_step(alone->trainer, &report));
    train_bench_steps(alone->trainer, 2);
    validation = train_bench_validate(alone->trainer).loss;
    for (int32_t p = 0; p < training->n_parts; p++) {
        assert_near(training->loss[p], report.loss, 1e-6);
        assert_near(training->norm[p], report.gradient_norm, 1e-5);
        assert_near(training->validation[p], validation, 1e-4);
        ck_assert_mem_eq(values_of(&training->bench[p]),
            values_of(&training->bench[0]), bytes);
        ck_assert(memcmp(&training->validation[p], &training->validation[0],
                      sizeof(double)) == 0);
    }
}

static const struct {
    int32_t n_parts, stage;
} training_rows[] = {{1, ETX_TRAIN_GNN}, {2, ETX_TRAIN_GNN}, {4, ETX_TRAIN_GNN},
    {2, ETX_TRAIN_FILTER}};

/* All parts end with the same bits, and near a trainer alone. */
ETX_TEST(test_parts_training, .rows = ROWS(training_rows))
{
    struct training training = {
        .n_parts = training_rows[_i].n_parts, .stage = training_rows[_i].stage};

    scoped_bench alone = train_bench_new(training.stage, 1, NULL);
    for (int32_t p = 0; p < training.n_parts; p++)
        training.bench[p] = train_bench_new(training.stage, 1, NULL);
    part_threads_run(training.n_parts, train_part, &training, NULL);
    check_training(&training, &alone);
    for (int32_t p = 0; p < training.n_parts; p++)
        train_bench_close(&training.bench[p]);
}

/* What is refused is refused before rows are exchanged. */
static etx_status no_swap(void *user, float *received,
    const int64_t *n_received, const float *sent, const int64_t *n_sent)
{
    (void)user;
    (void)received;
    (void)n_received;
    (void)sent;
    (void)n_sent;
    ck_abort_msg("rows were exchanged");
    return ETX_ERR_IO;
}

ETX_TEST(test_parts_training_refused)
{
    const etx_part_exchange exchange = {
        .struct_size = sizeof exchange, .swap = no_swap};
    struct train_bench bench;
    etx_training_report report = {.struct_size = sizeof report};

    bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, NULL);
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, &exchange),
        ETX_ERR_ARGUMENT, "embedding");
    train_bench_close(&bench);
    bench = train_bench_new(
        ETX_TRAIN_GNN, 1, "{'model': {'options': {'norm': 'batch'}}}");
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, &exchange),
        ETX_ERR_UNSUPPORTED, "batch norm");
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, NULL),
        ETX_ERR_ARGUMENT, "exchange is NULL");
    ck_assert_ok(etx_trainer_set_parts(bench.trainer, 1, 0, 0, NULL));
    ck_assert_ok(etx_trainer_step(bench.trainer, &report));
    train_bench_close(&bench);
}

/* Parts whose owners differ find it out before they exchange rows. */
static void train_unlike(struct part_thread *thread, void *argument)
{
    struct training *training = argument;
    etx_trainer *trainer = training->bench[thread->part].trainer;
    etx_training_report report = {.struct_size = sizeof report};

    ck_assert_ok(etx_trainer_set_parts(trainer, 2, thread->part,
        thread->part == 0 ? ETX_PARTITION_PHI : ETX_PARTITION_KD,
        &thread->exchange));
    ck_assert_fails(etx_trainer_step(trainer, &report), ETX_ERR_FORMAT,
        "part 1 has other edges or owners than part 0");
}

ETX_TEST(test_parts_training_unlike)
{
    struct training training = {.n_parts = 2, .stage = ETX_TRAIN_GNN};

    for (int32_t p = 0; p < 2; p++)
        training.bench[p] = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    part_threads_run(2, train_unlike, &training, NULL);
    for (int32_t p = 0; p < 2; p++)
        train_bench_close(&training.bench[p]);
}
