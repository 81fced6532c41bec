/* train_bench.c -- a trainer with small events, ready to step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train_bench.h"

#include "base/heap.h"
#include "cylinders.h"
#include "train/train.h"
#include "train/transfer.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const configs[ETX_N_TRAIN_STAGES] = {
    "{'stage': 'embedding', 'seed': 3, 'model': {'arch': 'mlp', 'options': "
    "{'hidden': [16], 'n_out': 3, 'activation': 'silu', 'norm': 'layer'}, "
    "'node_features': [{'name': 'r', 'scale': 1000.0}, {'name': 'cos_phi', "
    "'scale': 1.0}, {'name': 'sin_phi', 'scale': 1.0}, {'name': 'eta', "
    "'scale': 1.0}], 'graph': {'radius': 0.4, 'max_neighbours': 0, "
    "'orientation': 'outward'}}, 'schedule': {'steps': 20, 'learning_rate': "
    "0.01, 'warmup_steps': 2, 'decay': 'constant'}, 'optimiser': {'amsgrad': "
    "true}, 'sampling': {'hits': 300, 'neighbours': 400, 'search_radius': "
    "100.0, 'random_pairs': 50}, 'validation': {'target_efficiency': 0.9}}",
    "{'stage': 'filter', 'seed': 3, 'model': {'arch': 'edge_filter', "
    "'options': {'hidden': [16]}, 'node_features': [{'name': 'r', 'scale': "
    "1000.0}], 'edge_features': [{'name': 'dphi', 'scale': 0.3}, {'name': "
    "'deta', 'scale': 1.0}, {'name': 'dr', 'scale': 100.0}], 'cut': 0.1}, "
    "'schedule': {'steps': 20, 'learning_rate': 0.01, 'warmup_steps': 2}, "
    "'sampling': {'hits': 300, 'edges': 400}, 'validation': "
    "{'target_efficiency': 0.9}}",
    "{'stage': 'gnn', 'seed': 3, 'model': {'arch': 'interaction_network', "
    "'options': {'hidden': 8, 'n_iterations': 2}, 'node_features': [{'name': "
    "'r', 'scale': 1000.0}], 'edge_features': [{'name': 'dphi', 'scale': 0.3}, "
    "{'name': 'deta', 'scale': 1.0}, {'name': 'score_logit', 'scale': 4.0}]}, "
    "'schedule': {'steps': 20, 'learning_rate': 0.01, 'warmup_steps': 2}, "
    "'sampling': {'hits': 0, 'edges': 500}, 'validation': "
    "{'target_efficiency': 0.9}}"};

etx_context *train_bench_context(int32_t n_threads)
{
    return etx_test_context_with(n_threads, 0, NULL, NULL);
}

static void set_all(struct etx_json *object, const struct etx_json *members)
{
    const struct etx_json *member = etx_json_first(members);

    for (; member != NULL; member = member->next)
        ck_assert_ok(etx_json_set_copy(object, member->key, member));
}

static struct etx_json *parse(const char *text)
{
    struct etx_json *json = NULL;

    ck_assert_ok(
        etx_json_parse(&json, "config", etx_test_json(text), strlen(text), 8));
    return json;
}

/* The stage's config with the sections of change over its own; for etx_free. */
static char *make_config(int stage, const char *change)
{
    struct etx_json *config = parse(configs[stage]);
    struct etx_json *changes = parse(change == NULL ? "{}" : change);
    char *text = NULL;

    for (const struct etx_json *member = etx_json_first(changes);
         member != NULL; member = member->next) {
        struct etx_json *section = etx_json_get(config, member->key);

        if (section != NULL)
            set_all(section, member);
        else
            ck_assert_ok(etx_json_set_copy(config, member->key, member));
    }
    ck_assert_ok(etx_json_write(&text, config, ETX_JSON_DIGITS, 0));
    etx_json_free(config);
    etx_json_free(changes);
    return text;
}

void train_bench_create(
    struct train_bench *bench, int stage, const char *change)
{
    char *config = make_config(stage, change);

    ck_assert_ok(etx_trainer_create(
        &bench->trainer, bench->context, config, bench->start));
    etx_free(config);
}

void train_bench_add(struct train_bench *bench, int stage, const char *change)
{
    train_bench_create(bench, stage, change);
    for (int k = 0; k < TRAIN_BENCH_EVENTS; k++)
        ck_assert_ok(etx_trainer_add_event(
            bench->trainer, bench->event[k], k == TRAIN_BENCH_EVENTS - 1));
}

void train_bench_steps(etx_trainer *trainer, int n)
{
    etx_training_report report = {.struct_size = sizeof report};

    for (int k = 0; k < n; k++)
        ck_assert_ok(etx_trainer_step(&report, trainer));
}

const char *train_bench_path(void)
{
    static char path[64];

    (void)snprintf(
        path, sizeof path, "/tmp/etx-train-%ld.checkpoint", (long)getpid());
    return path;
}

char *train_bench_read(const char *path, long *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *size = ftell(file);
    rewind(file);
    bytes = etx_test_alloc(*size, 1);
    ck_assert_uint_eq(fread(bytes, 1, (size_t)*size, file), (size_t)*size);
    ck_assert_int_eq(fclose(file), 0);
    return bytes;
}

void train_bench_write(const char *path, const char *bytes, long size)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, (size_t)size, file), (size_t)size);
    ck_assert_int_eq(fclose(file), 0);
}

void train_bench_save(const etx_trainer *trainer)
{
    ck_assert_ok(etx_trainer_save_checkpoint(trainer, train_bench_path()));
}

etx_status train_bench_load(etx_trainer *trainer)
{
    return etx_trainer_load_checkpoint(trainer, train_bench_path());
}

void train_bench_remove(void)
{
    ck_assert_int_eq(unlink(train_bench_path()), 0);
}

etx_training_report train_bench_validate(etx_trainer *trainer)
{
    etx_training_report report = {.struct_size = sizeof report};

    ck_assert_ok(etx_trainer_validate(&report, trainer));
    return report;
}

struct train_bench train_bench_new(
    int stage, int32_t n_threads, const char *change)
{
    struct train_bench bench;

    train_bench_open_in(&bench, train_bench_context(n_threads), stage, change);
    return bench;
}

void train_bench_open_in(struct train_bench *bench, etx_context *context,
    int stage, const char *change)
{
    *bench = (struct train_bench){.context = context};
    for (int k = 0; k < TRAIN_BENCH_EVENTS; k++)
        bench->event[k] = train_event(50, (uint64_t)k);
    for (int s = 0; s < stage; s++) {
        etx_model *made = NULL;

        train_bench_add(bench, s, NULL);
        train_bench_steps(bench->trainer, 20);
        (void)train_bench_validate(bench->trainer);
        ck_assert_ok(etx_trainer_model(&made, bench->trainer));
        etx_trainer_free(bench->trainer);
        etx_model_free(bench->start);
        bench->start = made;
    }
    train_bench_add(bench, stage, change);
}

void train_bench_close(struct train_bench *bench)
{
    etx_trainer_free(bench->trainer);
    etx_model_free(bench->start);
    for (int k = 0; k < TRAIN_BENCH_EVENTS; k++)
        etx_event_free(bench->event[k]);
    etx_context_free(bench->context);
}

void train_bench_join(struct train_bench *bench,
    const struct train_bench *other, int stage, const char *change)
{
    *bench = *other;
    bench->context = train_bench_context(1);
    train_bench_add(bench, stage, change);
}

void train_bench_leave(struct train_bench *bench)
{
    etx_trainer_free(bench->trainer);
    etx_context_free(bench->context);
}

double train_bench_loss(struct train_bench *bench, int32_t n_events)
{
    struct etx_trainer *trainer = bench->trainer;
    const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
    etx_training_report report = {.loss = 0.0};
    struct etx_batch batch = {.team = &trainer->team,
        .config = &trainer->config,
        .seed = etx_trainer_seed(trainer),
        .step = trainer->progress.step + 1,
        .n_graphs = n_events,
        .event = trainer->training.event};

    etx_random_init(&batch.random, 5, 1, 1);
    ck_assert_ok(
        etx_batch_begin(&batch, etx_train_host(trainer->context)->arena));
    ck_assert_ok(etx_trainer_gradient(trainer, &batch));
    etx_batch_report(&batch, &report);
    etx_scratch_reset(trainer->context, mark);
    return report.loss;
}

static void move(float *value, const float *base, const float *direction,
    int64_t n, double h)
{
    for (int64_t k = 0; k < n; k++)
        value[k] = (float)((double)base[k] + h * (double)direction[k]);
}

void train_bench_check_gradient(struct train_bench *bench, int32_t n_events)
{
    const double h = 2e-3;
    struct etx_network *network = bench->trainer->stage->network;
    const int64_t n = network->n_values;
    scoped float *base = malloc((size_t)n * sizeof *base);
    scoped float *direction = malloc((size_t)n * sizeof *direction);
    struct etx_random random;

    ck_assert_ptr_nonnull(base);
    ck_assert_ptr_nonnull(direction);
    memcpy(base, network->value, (size_t)n * sizeof *base);
    etx_random_init(&random, 9, 0, 0);
    for (int trial = 0; trial < 5; trial++) {
        double expected = 0.0;
        double norm = 0.0;

        move(network->value, base, base, n, 0.0);
        (void)train_bench_loss(bench, n_events);
        for (int64_t k = 0; k < n; k++) {
            const double g = (double)bench->trainer->state.gradient[k];

            direction[k] = etx_random_normal(&random);
            expected += g * (double)direction[k];
            norm += g * g;
        }
        move(network->value, base, direction, n, h);
        const double above = train_bench_loss(bench, n_events);
        move(network->value, base, direction, n, -h);
        const double below = train_bench_loss(bench, n_events);
        ck_assert_double_eq_tol(
            (above - below) / (2.0 * h), expected, 0.03 * sqrt(norm) + 1e-4);
    }
    move(network->value, base, base, n, 0.0);
}
