/* test_train_loss_scale.c -- loss scaling.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "train_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Changes of a config, and the same with a scale that grows. */
#define SCALED "'loss_scaling': {'initial': 1024, 'double_every': 3}"
#define DEEP                                                                   \
    "'model': {'options': {'hidden': 8, 'n_iterations': 2, 'pt_layers': 2}}, " \
    "'loss': {'pt_weight': 0.3}"
#define CHUNKS "'sampling': {'chunk_edges': 100, 'graphs': 3}"

static const struct {
    int stage;
    const char *plain, *scaled;
} cases[] = {
    {ETX_TRAIN_EMBEDDING, NULL, "{" SCALED "}"},
    {ETX_TRAIN_FILTER, "{" CHUNKS "}", "{" CHUNKS ", " SCALED "}"},
    {ETX_TRAIN_GNN, "{" DEEP "}", "{" DEEP ", " SCALED "}"},
};

#define N_CASES (sizeof cases / sizeof cases[0])

/* True edges weigh so much that the gradient overflows under the largest
 * scales of float32. */
#define STEEP                                                                  \
    "{'loss': {'positive_weight': 1e6}, 'schedule': {'steps': 60}, "           \
    "'loss_scaling': {'initial': 8.507059173023462e37, 'double_every': 2}}"
#define STEEPEST 0x1p126

static size_t bytes_of(const struct train_bench *bench)
{
    return (size_t)bench->trainer->stage->network->n_values * sizeof(float);
}

/* A power of two rounds nothing: the same bits as without. */
ETX_TEST(test_train_loss_scale_same_bits, .rows = N_CASES)
{
    etx_training_report report[2] = {
        {.struct_size = sizeof report[0]}, {.struct_size = sizeof report[0]}};

    scoped_bench plain = train_bench_new(cases[_i].stage, 1, cases[_i].plain);
    scoped_bench scaled = train_bench_new(cases[_i].stage, 1, cases[_i].scaled);
    for (int k = 0; k < 10; k++) {
        ck_assert_ok(etx_trainer_step(&report[0], plain.trainer));
        ck_assert_ok(etx_trainer_step(&report[1], scaled.trainer));
        ck_assert_double_eq(report[0].loss, report[1].loss);
        ck_assert_double_eq(report[0].gradient_norm, report[1].gradient_norm);
        ck_assert_double_eq(report[1].loss_scale, 1024.0 * (1 << k / 3));
        ck_assert(isnan(report[0].loss_scale));
    }
    ck_assert_int_eq(report[1].n_skipped, 0);
    ck_assert_same_state(plain.trainer, scaled.trainer);
}

/* Parameters and moments of a bench, to compare with later. */
struct copy {
    float *value, *m;
};

static void copy_state(struct copy *copy, const struct train_bench *bench)
{
    const size_t bytes = bytes_of(bench);

    copy->value = realloc(copy->value, bytes);
    copy->m = realloc(copy->m, bytes);
    ck_assert(copy->value != NULL && copy->m != NULL);
    memcpy(copy->value, bench->trainer->stage->network->value, bytes);
    memcpy(copy->m, bench->trainer->state.moments.m, bytes);
}

/* A gradient that is not finite halves the scale and changes nothing else; two
 * good ones double it, until the next that is not. */
ETX_TEST(test_train_loss_scale_skips)
{
    struct copy before = {NULL, NULL};
    etx_training_report report = {.struct_size = sizeof report};
    double scale = STEEPEST;
    int n_good = 0;
    int n_skipped = 0;

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, STEEP);
    const struct etx_network *network = bench.trainer->stage->network;
    for (int k = 1; k <= 60; k++) {
        copy_state(&before, &bench);
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
        ck_assert_int_eq(report.step, k);
        ck_assert_double_eq(report.loss_scale, scale);
        ck_assert_int_eq(report.is_skipped, !isfinite(report.gradient_norm));
        n_skipped += report.is_skipped;
        ck_assert_int_eq(report.n_skipped, n_skipped);
        if (report.is_skipped) {
            ck_assert_mem_eq(before.value, network->value, bytes_of(&bench));
            ck_assert_mem_eq(
                before.m, bench.trainer->state.moments.m, bytes_of(&bench));
            scale /= 2.0;
            n_good = 0;
        } else {
            ck_assert_mem_ne(before.value, network->value, bytes_of(&bench));
            n_good++;
        }
        if (n_good == 2) {
            scale = fmin(2.0 * scale, STEEPEST);
            n_good = 0;
        }
    }
    ck_assert_int_gt(n_skipped, 2);
    ck_assert_int_lt(n_skipped, 58);
    free(before.value);
    free(before.m);
}

/* The first update after skipped steps is the first of AdamW: a parameter with
 * a gradient moves by the learning rate. */
ETX_TEST(test_train_loss_scale_counts_updates)
{
    struct copy before = {NULL, NULL};
    etx_training_report report = {.struct_size = sizeof report};
    double largest = 0.0;

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, STEEP);
    const struct etx_network *network = bench.trainer->stage->network;
    do {
        copy_state(&before, &bench);
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
    } while (report.is_skipped);
    ck_assert_int_gt(report.step, 1);
    for (int64_t k = 0; k < network->n_values; k++)
        largest = fmax(
            largest, fabs((double)network->value[k] - (double)before.value[k]));
    ck_assert_double_eq_tol(
        largest, report.learning_rate, 0.02 * report.learning_rate);
    free(before.value);
    free(before.m);
}

/* Without a scale to halve, a gradient that is not finite is an error. */
ETX_TEST(test_train_loss_scale_ends)
{
    etx_training_report report = {.struct_size = sizeof report};
    etx_status status = ETX_OK;

    scoped_bench bench = train_bench_new(
        ETX_TRAIN_FILTER, 1, "{'loss_scaling': {'initial': 4}}");
    bench.trainer->stage->network->value[0] = INFINITY;
    for (int k = 0; k < 2; k++) {
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
        ck_assert_int_eq(report.is_skipped, 1);
    }
    status = etx_trainer_step(&report, bench.trainer);
    ck_assert_fails(status, ETX_ERR_ARGUMENT, "not finite");
    ck_assert_double_eq(bench.trainer->progress.loss_scale.scale, 1.0);
}

/* A checkpoint with a scale that no training has. */
ETX_TEST(test_train_loss_scale_of_a_checkpoint, .rows = 5)
{
    static const double wrong[] = {3.0, 0.5, -2.0, 0x1p127, NAN};

    scoped_bench bench = train_bench_new(
        ETX_TRAIN_FILTER, 1, "{'loss_scaling': {'initial': 4}}");
    bench.trainer->progress.loss_scale.scale = wrong[_i];
    train_bench_save(bench.trainer);
    bench.trainer->progress.loss_scale.scale = 8.0;
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_FORMAT, "loss scale");
    ck_assert_double_eq(bench.trainer->progress.loss_scale.scale, 8.0);
    bench.trainer->progress.loss_scale.n_skipped = -1;
    train_bench_save(bench.trainer);
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_FORMAT, "skipped steps");
    train_bench_remove();
}
