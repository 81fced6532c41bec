/* test_train_steps.c -- steps of every stage: gradients, progress, bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */

#include "data/learned_table.h"
#include "train/trainer.h"
#include "train/training_model.h"

#include "eval_events.h"
#include "io/safetensors.h"
#include "support.h"
#include "train_bench.h"

#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_STAGES ETX_N_TRAIN_STAGES

/* The gradient of the whole loss along a random direction against central
 * differences. */
ETX_TEST(test_train_steps_gradient, .rows = N_STAGES)
{
    scoped_bench bench = train_bench_new(_i, 1, NULL);
    train_bench_check_gradient(&bench, 1);
}

ETX_TEST(test_train_steps_loss_falls, .rows = N_STAGES)
{
    scoped_bench bench = train_bench_new(_i, 1, NULL);
    const double before = train_bench_loss(&bench, 1);
    train_bench_steps(bench.trainer, 20);
    const double after = train_bench_loss(&bench, 1);
    ck_assert_msg(after < 0.95 * before, "loss %g, then %g", before, after);
}

ETX_TEST(test_train_steps_end)
{
    etx_training_report report = {.struct_size = sizeof report};

    scoped_bench bench = train_bench_new(0, 1, NULL);
    ck_assert_int_eq(etx_trainer_n_steps(bench.trainer), 20);
    ck_assert_int_eq(
        etx_trainer_epoch_steps(bench.trainer), TRAIN_BENCH_EVENTS - 1);
    ck_assert_int_eq(etx_trainer_is_new(bench.trainer), 1);
    train_bench_steps(bench.trainer, 20);
    ck_assert_int_eq(etx_trainer_steps_done(bench.trainer), 20);
    ck_assert_fails(etx_trainer_step(&report, bench.trainer), ETX_ERR_ARGUMENT,
        "step 21 is beyond the schedule's 20");
}

/* The threshold that validation finds is in the model that comes out. */
ETX_TEST(test_train_steps_threshold_is_exported)
{
    etx_training_report report = {.struct_size = sizeof report};
    etx_label_options label;
    scoped_model *model = NULL;

    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    train_bench_steps(bench.trainer, 5);
    ck_assert_ok(etx_trainer_validate(&report, bench.trainer));
    ck_assert(report.threshold > 0.0 && report.threshold != 0.5);
    ck_assert_ok(etx_trainer_model(&model, bench.trainer));
    ck_assert_ok(etx_label_options_init(&label, sizeof label));
    ck_assert_ok(etx_model_label_options(&label, model));
    ck_assert(label.cut == (float)report.threshold);
}

/* The graph of a fixed radius is measured, and kept: this one joins all hits,
 * so every signal pair is in it. */
ETX_TEST(test_train_steps_validation_radius)
{
    etx_training_report report;

    scoped_bench bench = train_bench_new(
        ETX_TRAIN_EMBEDDING, 1, "{'validation': {'radius': 1000.0}}");
    report = train_bench_validate(bench.trainer);
    ck_assert_double_eq(report.threshold, 1000.0);
    ck_assert_double_eq(report.efficiency, 1.0);
    ck_assert_double_eq(report.n_edges, 450.0 * 449.0 / 2.0);
    ck_assert_float_eq(bench.trainer->model->radius, 1000.0f);
}

/* 449 edges per hit, of 300 that are counted: the graph is not measured, and
 * the model keeps its radius. */
ETX_TEST(test_train_steps_validation_of_too_many_edges)
{
    etx_training_report report;

    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1,
        "{'validation': {'radius': 1000.0}, 'model': {'graph': {'radius': 0.4, "
        "'max_neighbours': 0, 'orientation': 'both'}}}");
    report = train_bench_validate(bench.trainer);
    ck_assert_double_eq(report.threshold, 1000.0);
    ck_assert_double_nan(report.n_edges);
    ck_assert_double_nan(report.purity);
    ck_assert_double_nan(report.efficiency);
    ck_assert_float_eq(bench.trainer->model->radius, 0.4f);
}

/* Edges in both directions are twice as many, of the same efficiency and
 * purity. */
ETX_TEST(test_train_steps_validation_of_both_directions)
{
    static const char *const orientations[] = {
        "{'validation': {'radius': 0.1}}",
        ("{'validation': {'radius': 0.1}, 'model': {'graph': {'radius': 0.4,"
         " 'max_neighbours': 0, 'orientation': 'both'}}}")};
    etx_training_report report[2];

    for (int k = 0; k < 2; k++) {
        scoped_bench bench =
            train_bench_new(ETX_TRAIN_EMBEDDING, 1, orientations[k]);
        report[k] = train_bench_validate(bench.trainer);
    }
    ck_assert_double_gt(report[0].efficiency, 0.0);
    ck_assert_double_eq(report[0].efficiency, report[1].efficiency);
    ck_assert_double_eq(report[0].purity, report[1].purity);
    ck_assert_double_eq(2.0 * report[0].n_edges, report[1].n_edges);
}

/* ---------------------------------------------------------- the optimiser --
 */

/* Options that change the parameters after some steps, alone and over others.
 */
static const struct {
    const char *base, *changed;
} effects[] = {
    {NULL, "{'optimiser': {'beta1': 0.5}}"},
    {NULL, "{'optimiser': {'beta2': 0.5}}"},
    {NULL, "{'optimiser': {'eps': 0.1}}"},
    {NULL, "{'optimiser': {'weight_decay': 0.5}}"},
    {NULL, "{'optimiser': {'gradient_clip': 0.01}}"},
    {"{'optimiser': {'beta2': 0.5}}",
        "{'optimiser': {'beta2': 0.5, 'amsgrad': true}}"},
    {NULL, "{'loss': {'focal_gamma': 2}}"},
};

ETX_TEST(test_train_steps_options, .rows = ROWS(effects))
{
    scoped_bench base = train_bench_new(ETX_TRAIN_FILTER, 1, effects[_i].base);
    scoped_bench changed =
        train_bench_new(ETX_TRAIN_FILTER, 1, effects[_i].changed);
    const struct etx_network *network = base.trainer->stage->network;

    train_bench_steps(base.trainer, 5);
    train_bench_steps(changed.trainer, 5);
    ck_assert_mem_ne(network->value, changed.trainer->stage->network->value,
        (size_t)network->n_values * sizeof *network->value);
}

/* The first step of two trainers that differ in one option. */
struct first_steps {
    struct train_bench bench[2];
    etx_training_report report;
};

static void close_first_steps(struct first_steps *steps)
{
    train_bench_close(&steps->bench[0]);
    train_bench_close(&steps->bench[1]);
}

static struct first_steps first_steps(const char *plain, const char *changed)
{
    struct first_steps steps = {
        .bench = {train_bench_new(ETX_TRAIN_FILTER, 1, plain),
            train_bench_new(ETX_TRAIN_FILTER, 1, changed)},
        .report = {.struct_size = sizeof steps.report}};

    for (int b = 0; b < 2; b++)
        ck_assert_ok(etx_trainer_step(&steps.report, steps.bench[b].trainer));
    return steps;
}

#define scoped_first_steps SCOPED(close_first_steps) struct first_steps

/* The first moments are a share of the gradient, which has the norm of the
 * clip. */
ETX_TEST(test_train_steps_gradient_clip)
{
    const double clip = 0.001;
    scoped_first_steps steps =
        first_steps("{'optimiser': {'gradient_clip': 0}}",
            "{'optimiser': {'gradient_clip': 0.001}}");
    const double norm = steps.report.gradient_norm;

    ck_assert_double_gt(norm, 2.0 * clip);
    for (int64_t k = 0; k < steps.bench[0].trainer->stage->network->n_values;
         k++)
        ck_assert_double_eq_tol(
            (double)steps.bench[1].trainer->state.moments.m[k],
            (double)steps.bench[0].trainer->state.moments.m[k] * clip / norm,
            1e-6 * clip);
}

/* Weights shrink by rate times decay; biases and norms do not. */
ETX_TEST(test_train_steps_weight_decay)
{
    scoped_bench start = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    scoped_first_steps steps = first_steps("{'optimiser': {'weight_decay': 0}}",
        "{'optimiser': {'weight_decay': 0.5}}");
    const struct etx_network *network = start.trainer->stage->network;

    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = network->parameter + p;
        const double shrinks =
            parameter->decays ? steps.report.learning_rate * 0.5 : 0.0;

        for (int64_t k = parameter->offset;
             k <
             parameter->offset + (int64_t)parameter->n_rows * parameter->n_cols;
             k++)
            ck_assert_double_eq_tol(
                (double)steps.bench[0].trainer->stage->network->value[k] -
                    (double)steps.bench[1].trainer->stage->network->value[k],
                shrinks * (double)network->value[k], 1e-6);
    }
}

/* Every array of a table tells it from another. */
ETX_TEST(test_train_steps_hash_of_tables)
{
    scoped_model *model = NULL;

    ck_assert_ok(etx_model_load(&model, "examples/models/default.safetensors"));
    const struct etx_table_kind *kind = etx_table_kind_of(model->completion);
    const uint64_t whole = etx_train_hash_table(0, model->completion);
    for (int32_t k = 0; k < kind->n_arrays; k++) {
        char *const value =
            etx_table_values(model->completion, &kind->array[k]);

        value[0] ^= 1;
        ck_assert_uint_ne(etx_train_hash_table(0, model->completion), whole);
        value[0] ^= 1;
    }
}

/* Every number that the next steps depend on tells a state from another. */
ETX_TEST(test_train_steps_hash_of_state)
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, NULL);
    struct etx_trainer *const trainer = bench.trainer;
    float *const value[] = {trainer->stage->network->value,
        trainer->state.moments.m, trainer->state.moments.v,
        trainer->state.moments.v_max, &trainer->model->radius};
    train_bench_steps(trainer, 1);
    const uint64_t whole = etx_trainer_hash(trainer);

    for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
        const float before = value[k][0];

        value[k][0] = before + 1.0f;
        ck_assert_uint_ne(etx_trainer_hash(trainer), whole);
        value[k][0] = before;
    }
    ck_assert_uint_eq(etx_trainer_hash(trainer), whole);
    train_bench_steps(trainer, 1);
    ck_assert_uint_ne(etx_trainer_hash(trainer), whole);
}

/* ---------------------------------------------------------- checkpoints -- */

ETX_TEST(test_train_checkpoint_damaged_is_refused)
{
    long size;
    scoped char *bytes = NULL;

    scoped_bench bench = train_bench_new(0, 1, NULL);
    train_bench_steps(bench.trainer, 2);
    train_bench_save(bench.trainer);
    bytes = train_bench_read(train_bench_path(), &size);
    for (long cut = 0; cut < size; cut += 1 + size / 40) {
        train_bench_write(train_bench_path(), bytes, cut);
        ck_assert_int_ne(train_bench_load(bench.trainer), ETX_OK);
    }
    for (long at = 0; at < size; at += 1 + size / 400) {
        etx_status status;

        bytes[at] ^= 4;
        train_bench_write(train_bench_path(), bytes, size);
        status = train_bench_load(bench.trainer);
        bytes[at] ^= 4;
        ck_assert_msg(status != ETX_OK, "a flip at byte %ld passed", at);
    }
    train_bench_write(train_bench_path(), bytes, size);
    ck_assert_ok(train_bench_load(bench.trainer));
    ck_assert_int_eq(etx_trainer_steps_done(bench.trainer), 2);
    train_bench_remove();
}

ETX_TEST(test_train_checkpoint_of_another_trainer_is_refused)
{
    scoped_bench bench = train_bench_new(0, 1, NULL);
    scoped_bench other = train_bench_new(1, 1, NULL);
    train_bench_save(bench.trainer);
    ck_assert_fails(
        train_bench_load(other.trainer), ETX_ERR_ARGUMENT, "another config");
    ck_assert_ok(etx_trainer_add_event(bench.trainer, bench.event[0], 1));
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_ARGUMENT, "validation events");
    ck_assert_ok(etx_trainer_add_event(bench.trainer, bench.event[0], 0));
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_ARGUMENT, "events");
    bench.trainer->training.n_hits++;
    train_bench_save(bench.trainer);
    bench.trainer->training.n_hits--;
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_ARGUMENT, "events of");
    train_bench_remove();
}

ETX_TEST(test_train_checkpoint_keeps_results)
{
    scoped_bench bench = train_bench_new(1, 1, NULL);
    train_bench_validate(bench.trainer);
    const struct etx_train_result found = bench.trainer->result;
    ck_assert(found.efficiency > 0.0 && found.purity > 0.0);
    ck_assert(found.loss > 0.0 && found.n_edges > 0.0);
    train_bench_save(bench.trainer);
    memset(&bench.trainer->result, 0, sizeof found);
    ck_assert_ok(train_bench_load(bench.trainer));
    ck_assert(bench.trainer->result.loss == found.loss);
    ck_assert(bench.trainer->result.n_edges == found.n_edges);
    ck_assert(bench.trainer->result.efficiency == found.efficiency);
    ck_assert(bench.trainer->result.purity == found.purity);
    ck_assert(bench.trainer->result.auc == found.auc);
    train_bench_remove();
}

ETX_TEST(test_train_checkpoint_of_another_order_is_refused, .rows = 2)
{
    struct train_bench bench[2] = {
        train_bench_new(0, 1, NULL), train_bench_new(0, 1, NULL)};
    etx_event *event[2] = {
        new_random_event(60, 5, 1), new_random_event(70, 5, 1)};

    for (int b = 0; b < 2; b++)
        for (int e = 0; e < 2; e++)
            ck_assert_ok(
                etx_trainer_add_event(bench[b].trainer, event[e ^ b], _i));
    train_bench_save(bench[0].trainer);
    ck_assert_ok(train_bench_load(bench[0].trainer));
    ck_assert_fails(train_bench_load(bench[1].trainer), ETX_ERR_ARGUMENT,
        "in another order");
    train_bench_remove();
    for (int b = 0; b < 2; b++) {
        train_bench_close(&bench[b]);
        etx_event_free(event[b]);
    }
}

/* A file may be whole and still need a graph of all pairs. */
ETX_TEST(test_train_checkpoint_thresholds_are_checked, .rows = 5)
{
    static const struct {
        int threshold;
        float bad;
    } rows[] = {{0, -1.0f}, {0, 1e31f}, {0, NAN}, {1, 1.5f}, {2, 1.5f}};
    char named[16];

    scoped_bench bench = train_bench_new(0, 1, NULL);
    struct etx_model *const model = bench.trainer->model;
    float *const at[] = {&model->radius, &model->filter_cut, &model->label.cut};
    float *const threshold = at[rows[_i].threshold];
    const float good = *threshold;
    *threshold = rows[_i].bad;
    train_bench_save(bench.trainer);
    *threshold = good;
    snprintf(named, sizeof named, "threshold %d", rows[_i].threshold);
    ck_assert_fails(train_bench_load(bench.trainer), ETX_ERR_FORMAT, named);
    ck_assert(*threshold == good);
    train_bench_remove();
}

/* What a step cannot compute with is refused, in a host that traps, too. */
ETX_TEST(test_train_checkpoint_numbers_are_checked, .rows = 4)
{
    struct number {
        float *at;
        float bad;
    } number;

    scoped_bench bench = train_bench_new(0, 1, NULL);
    train_bench_steps(bench.trainer, 2);
    float *const parameter = bench.trainer->stage->network->value;
    const struct number numbers[] = {{parameter, NAN},
        {parameter + 1, INFINITY}, {bench.trainer->state.moments.m, -INFINITY},
        {bench.trainer->state.moments.v + 1, -1.0f}};
    number = numbers[_i];
    const float good = *number.at;
    *number.at = number.bad;
    train_bench_save(bench.trainer);
    *number.at = good;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    const etx_status status = train_bench_load(bench.trainer);
    fedisableexcept(FE_ALL_EXCEPT);
    ck_assert_status(status, ETX_ERR_FORMAT);
    ck_assert_error("value ");
    ck_assert(*number.at == good);
    train_bench_remove();
}

/* Above a mean of nan no loss is a spike. */
ETX_TEST(test_train_checkpoint_mean_losses_are_checked, .rows = 2)
{
    scoped_bench bench =
        train_bench_new(0, 1, "{'stability': {'spike_factor': 4}}");
    train_bench_steps(bench.trainer, 2);
    double *const mean = _i == 0 ? &bench.trainer->progress.mean.loss
                                 : &bench.trainer->snapshot.progress.mean.loss;
    const double good = *mean;
    *mean = _i == 0 ? NAN : INFINITY;
    train_bench_save(bench.trainer);
    *mean = good;
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_FORMAT, "mean loss");
    ck_assert(*mean == good);
    train_bench_remove();
}

/* A window of the mean is that of the config. */
ETX_TEST(test_train_checkpoint_mean_steps_are_checked, .rows = 4)
{
    scoped_bench bench =
        train_bench_new(0, 1, "{'stability': {'spike_factor': 4}}");
    const int32_t window = bench.trainer->config.stability.spike_window;
    train_bench_steps(bench.trainer, 2);
    struct etx_train_mean *const mean =
        _i < 2 ? &bench.trainer->progress.mean
               : &bench.trainer->snapshot.progress.mean;
    const struct etx_train_mean good = *mean;
    mean->n = _i % 2 == 0 ? -1 : window + 1;
    train_bench_save(bench.trainer);
    *mean = good;
    ck_assert_fails(
        train_bench_load(bench.trainer), ETX_ERR_FORMAT, "a mean over");
    train_bench_remove();
}

ETX_TEST(test_train_checkpoint_of_another_schema)
{
    scoped_tensor_file *file = NULL;
    etx_status status;
    long size;

    scoped_bench bench = train_bench_new(0, 1, NULL);
    train_bench_save(bench.trainer);
    scoped char *bytes = train_bench_read(train_bench_path(), &size);
    ck_assert_ok(etx_tensor_file_parse(&file, bytes, (size_t)size));
    ck_assert_ok(etx_json_set_text(file->metadata, "etx.checkpoint", "2"));
    ck_assert_ok(etx_tensor_file_write(
        train_bench_path(), file->n_tensors, file->tensor, file->metadata));
    status = train_bench_load(bench.trainer);
    ck_assert_fails(status, ETX_ERR_FORMAT, "checkpoint of schema 1");
    train_bench_remove();
}

/* Killed at any moment while it saves: what is there can be loaded. */
ETX_TEST(test_train_checkpoint_survives_kill)
{
    scoped_bench bench = train_bench_new(0, 1, NULL);
    train_bench_save(bench.trainer);
    for (int k = 0; k < 5; k++) {
        const struct timespec pause = {0, 1000000L + 700000L * k};
        const pid_t child = fork();
        int state;

        ck_assert_int_ge(child, 0);
        if (child == 0)
            for (;;)
                if (etx_trainer_save_checkpoint(
                        bench.trainer, train_bench_path()) != 0)
                    _exit(1);
        (void)nanosleep(&pause, NULL);
        ck_assert_int_eq(kill(child, SIGKILL), 0);
        ck_assert_int_eq(waitpid(child, &state, 0), child);
        ck_assert_ok(train_bench_load(bench.trainer));
    }
    train_bench_remove();
}
