/* test_train_stability.c -- rolling back, stopping early, keeping the best, and
 * resuming bit for bit with all of it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "support.h"
#include "train_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A loss above 1.0001 times the mean of the last 3 counts as a spike: with
 * steps on different sectors that happens soon. */
#define JUMPY                                                                  \
    "{'stability': {'spike_factor': 1.0001, 'spike_window': 3, "               \
    "'snapshot_every': 4, 'most_rollbacks': 2}}"

ETX_TEST(test_train_stability_rolls_back)
{
    etx_training_report report = {.struct_size = sizeof report};
    struct etx_train_mean mean = {0.0, -1};
    scoped float *kept = NULL;

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, JUMPY);
    struct etx_trainer *trainer = bench.trainer;
    const int64_t n = trainer->stage->network->n_values;
    kept = calloc((size_t)n, sizeof *kept);
    ck_assert_ptr_nonnull(kept);
    while (report.n_rollbacks == 0) {
        if (trainer->progress.step % 4 == 0) {
            mean = trainer->progress.mean;
            memcpy(
                kept, trainer->stage->network->value, (size_t)n * sizeof *kept);
        }
        ck_assert_ok(etx_trainer_step(&report, trainer));
        ck_assert_int_lt(trainer->progress.step, 20);
    }
    ck_assert_int_eq(report.is_rollback, 1);
    ck_assert_int_eq(report.step % 4, 0);
    ck_assert_int_eq(trainer->progress.step, report.step);
    ck_assert_int_eq(trainer->progress.mean.n, mean.n);
    ck_assert_double_eq(trainer->progress.mean.loss, mean.loss);
    ck_assert_mem_eq(
        kept, trainer->stage->network->value, (size_t)n * sizeof *kept);
}

/* What follows is drawn again: not the step that led to the spike. */
ETX_TEST(test_train_stability_draws_again)
{
    etx_training_report report = {.struct_size = sizeof report};
    double before[21] = {0.0};

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, JUMPY);
    while (report.n_rollbacks == 0) {
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
        if (!report.is_rollback)
            before[report.step] = report.loss;
    }
    ck_assert_ok(etx_trainer_step(&report, bench.trainer));
    ck_assert_int_eq(report.is_rollback, 0);
    ck_assert_double_ne(report.loss, before[report.step]);
}

ETX_TEST(test_train_stability_gives_up)
{
    etx_training_report report = {.struct_size = sizeof report};
    etx_status status = ETX_OK;
    char step[32];

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, JUMPY);
    for (int k = 0; k < 60 && status == ETX_OK; k++)
        status = etx_trainer_step(&report, bench.trainer);
    (void)snprintf(step, sizeof step, "step %d: loss",
        (int)bench.trainer->progress.step + 1);
    ck_assert_fails(status, ETX_ERR_LIMIT, step);
    ck_assert_fails(status, ETX_ERR_LIMIT, "most_rollbacks 2");
    ck_assert_int_eq(report.n_rollbacks, 2);
}

/* A loss that is no number goes back as well; without stability it fails. */
ETX_TEST(test_train_stability_not_finite, .rows = 2)
{
    etx_training_report report = {.struct_size = sizeof report};

    scoped_bench bench =
        train_bench_new(ETX_TRAIN_FILTER, 1, _i ? JUMPY : NULL);
    if (_i)
        train_bench_steps(bench.trainer, 1);
    for (int64_t k = 0; k < bench.trainer->stage->network->n_values; k++)
        bench.trainer->stage->network->value[k] = NAN;
    if (_i) {
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
        ck_assert_int_eq(report.is_rollback, 1);
        ck_assert_int_eq(report.step, 0);
        ck_assert(isfinite(bench.trainer->stage->network->value[0]));
    } else {
        ck_assert_fails(etx_trainer_step(&report, bench.trainer),
            ETX_ERR_ARGUMENT, "not finite");
    }
}

ETX_TEST(test_train_stability_stops_early)
{
    etx_training_report report;

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1,
        "{'schedule': {'learning_rate': 0, 'min_learning_rate': 0}, "
        "'validation': {'patience': 2}}");
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(etx_trainer_is_finished(bench.trainer), 0);
        train_bench_steps(bench.trainer, 1);
        report = train_bench_validate(bench.trainer);
        ck_assert_int_eq(report.is_best, k == 0);
        ck_assert_int_eq(report.is_finished, k == 2);
    }
    ck_assert_int_eq(etx_trainer_is_finished(bench.trainer), 1);
    ck_assert_int_eq(etx_trainer_is_finished(NULL), 1);
}

static int32_t note_result(struct etx_trainer *trainer)
{
    return etx_best_update(&trainer->best, &trainer->result,
        &trainer->config.validation, trainer->model, trainer->stage->network);
}

/* What was not measured says nothing about the network: patience goes on. */
ETX_TEST(test_train_stability_waits_for_a_measurement)
{
    scoped_bench bench = train_bench_new(
        ETX_TRAIN_EMBEDDING, 1, "{'validation': {'patience': 1}}");
    bench.trainer->result.purity = NAN;
    ck_assert_int_eq(note_result(bench.trainer), 0);
    ck_assert_int_eq(etx_trainer_is_finished(bench.trainer), 0);
    bench.trainer->result.purity = 0.5;
    bench.trainer->result.step = 1;
    ck_assert_int_eq(note_result(bench.trainer), 1);
    bench.trainer->result.purity = NAN;
    ck_assert_int_eq(note_result(bench.trainer), 0);
    ck_assert_int_eq(etx_trainer_is_finished(bench.trainer), 0);
    bench.trainer->result.purity = 0.4;
    ck_assert_int_eq(note_result(bench.trainer), 0);
    ck_assert_int_eq(etx_trainer_is_finished(bench.trainer), 1);
}

/* What is better by no more than min_delta is not the best. */
ETX_TEST(test_train_stability_min_delta)
{
    static const struct {
        double purity;
        int32_t is_best;
    } results[] = {{0.5, 1}, {0.59, 0}, {0.61, 1}, {0.7, 0}};

    scoped_bench bench = train_bench_new(
        ETX_TRAIN_EMBEDDING, 1, "{'validation': {'min_delta': 0.1}}");
    for (int k = 0; k < ROWS(results); k++) {
        bench.trainer->result.purity = results[k].purity;
        bench.trainer->result.step = 1;
        ck_assert_int_eq(note_result(bench.trainer), results[k].is_best);
    }
}

ETX_TEST(test_train_stability_keeps_the_best, .rows = ETX_N_TRAIN_STAGES)
{
    etx_training_report report;
    scoped_model *model = NULL;

    scoped_bench bench =
        train_bench_new(_i, 1, "{'validation': {'keep_best': true}}");
    struct etx_network *network = bench.trainer->stage->network;
    const size_t bytes = (size_t)network->n_values * sizeof(float);
    scoped float *best = malloc(bytes);
    ck_assert_ptr_nonnull(best);
    train_bench_steps(bench.trainer, 15);
    report = train_bench_validate(bench.trainer);
    ck_assert_int_eq(report.is_best, 1);
    memcpy(best, network->value, bytes);
    const double threshold = report.threshold;
    for (int64_t k = 0; k < network->n_values; k++)
        network->value[k] *= k % 2 ? -3.0f : 0.1f;
    report = train_bench_validate(bench.trainer);
    ck_assert_int_eq(report.is_best, 0);
    ck_assert_ok(etx_trainer_model(&model, bench.trainer));
    const struct etx_network *const made[ETX_N_TRAIN_STAGES] = {
        model->embedding.network, model->filter.network, model->gnn.network};
    const float cut[ETX_N_TRAIN_STAGES] = {
        model->radius, model->filter_cut, model->label.cut};
    ck_assert_mem_eq(made[_i]->value, best, bytes);
    ck_assert_float_eq(cut[_i], (float)threshold);
}

/* ----------------------------------------------------------- everything -- */

/* No header has had a smaller report. */
ETX_TEST(test_train_stability_report_size)
{
    etx_training_report report;

    memset(&report, 0x55, sizeof report);
    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    report.struct_size = (uint32_t)sizeof report - 8;
    ck_assert_fails(etx_trainer_step(&report, bench.trainer), ETX_ERR_ARGUMENT,
        "struct_size");
    ck_assert_int_eq(report.step, 0x5555555555555555);
    report.struct_size = sizeof report;
    ck_assert_ok(etx_trainer_step(&report, bench.trainer));
    ck_assert_int_eq(report.step, 1);
}
