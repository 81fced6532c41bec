/* test_train_augmentation.c -- events as a worse detector sees them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/augment_event.h"

#include "cylinders.h"
#include "train/sampling/random_streams.h"
#include "train/train.h"
#include "train_bench.h"

#include <math.h>
#include <stdlib.h>

#define N_MODULES 50

/* An event with cells and modules: hit i is on module i % N_MODULES. */
static etx_event *make_event(void)
{
    etx_event *event = train_event(80, 5);
    const int64_t n = event->n_hits;
    int32_t *zero = calloc((size_t)n, sizeof *zero);
    int32_t *module = calloc((size_t)n, sizeof *module);
    float *cells = calloc((size_t)n * ETX_N_CELL_FEATURES, sizeof *cells);

    ck_assert(zero != NULL && module != NULL && cells != NULL);
    for (int64_t i = 0; i < n; i++)
        module[i] = (int32_t)(i % N_MODULES);
    for (int64_t i = 0; i < n * ETX_N_CELL_FEATURES; i++)
        cells[i] = 1.0f + (float)i;
    ck_assert_ok(etx_event_set_modules(event, zero, zero, module));
    ck_assert_ok(etx_event_set_cell_features(event, cells));
    free(zero);
    free(module);
    free(cells);
    return event;
}

static etx_event *augmented(const etx_event *event, int64_t number,
    struct etx_train_augmentation options)
{
    struct etx_random random = etx_random_of_event(3, number);
    etx_event *out = NULL;

    ck_assert_ok(etx_augment_event(&out, event, &random, &options));
    return out;
}

/* The row of event that has this hit id. */
static int64_t find_hit(const etx_event *event, int64_t id)
{
    int64_t i = 0;

    while (event->hit_id[i] != id)
        i++;
    return i;
}

/* A kept hit keeps all that belongs to it; the share is the event's own. */
ETX_TEST(test_train_augmentation_drop_hits)
{
    const struct etx_train_augmentation options = {.drop_hits = 0.5f};
    scoped_event *event = make_event();
    double least = 1.0;
    double most = 0.0;

    for (int64_t number = 0; number < 20; number++) {
        scoped_event *kept = augmented(event, number, options);
        const double share = 1.0 - (double)kept->n_hits / (double)event->n_hits;

        least = share < least ? share : least;
        most = share > most ? share : most;
        for (int64_t k = 0; k < kept->n_hits; k++) {
            const int64_t i = find_hit(event, kept->hit_id[k]);

            ck_assert_mem_eq(kept->position + 3 * k, event->position + 3 * i,
                3 * sizeof(float));
            ck_assert_mem_eq(kept->cell_features + ETX_N_CELL_FEATURES * k,
                event->cell_features + ETX_N_CELL_FEATURES * i,
                ETX_N_CELL_FEATURES * sizeof(float));
            ck_assert_int_eq(kept->module_id[k], event->module_id[i]);
            ck_assert_int_eq(kept->particle_row[k], event->particle_row[i]);
            ck_assert_int_eq(kept->particle_id[k], event->particle_id[i]);
        }
        ck_assert_int_eq(kept->n_particles, event->n_particles);
    }
    ck_assert_double_lt(least, 0.1);
    ck_assert_double_gt(most, 0.4);
    ck_assert_double_lt(most, 0.55);
}

/* The same number and seed, the same event. */
ETX_TEST(test_train_augmentation_repeats)
{
    const struct etx_train_augmentation options = {
        .drop_hits = 0.3f, .jitter = 0.1f};
    scoped_event *event = make_event();
    scoped_event *once = augmented(event, 4, options);
    scoped_event *again = augmented(event, 4, options);
    scoped_event *other = augmented(event, 5, options);

    ck_assert_int_eq(once->n_hits, again->n_hits);
    ck_assert_mem_eq(once->position, again->position,
        (size_t)once->n_hits * 3 * sizeof(float));
    ck_assert_int_ne(once->n_hits, other->n_hits);
}

ETX_TEST(test_train_augmentation_drop_cells)
{
    const struct etx_train_augmentation options = {.drop_cells = 0.25f};
    scoped_event *event = make_event();
    int n_without = 0;

    for (int64_t number = 0; number < 100; number++) {
        scoped_event *seen = augmented(event, number, options);
        const int is_without = seen->cell_features[0] == 0.0f;

        ck_assert_int_eq(seen->n_hits, event->n_hits);
        for (int64_t i = 0; i < seen->n_hits * ETX_N_CELL_FEATURES; i++)
            ck_assert_float_eq(seen->cell_features[i],
                is_without ? 0.0f : event->cell_features[i]);
        n_without += is_without;
    }
    ck_assert_int_gt(n_without, 12);
    ck_assert_int_lt(n_without, 38);
}

/* Hits of one module move together, and each module in its own way. */
ETX_TEST(test_train_augmentation_jitter)
{
    const struct etx_train_augmentation options = {.jitter = 0.5f};
    scoped_event *event = make_event();
    double sum = 0.0;

    for (int64_t number = 0; number < 10; number++) {
        scoped_event *moved = augmented(event, number, options);

        ck_assert_int_eq(moved->n_hits, event->n_hits);
        for (int64_t i = 0; i < 3 * event->n_hits; i++) {
            const int64_t first = i % (3 * N_MODULES);
            const double by = (double)(moved->position[i] - event->position[i]);

            ck_assert(by != 0.0);
            ck_assert_double_eq_tol(by,
                (double)(moved->position[first] - event->position[first]),
                1e-3);
            sum += by * by;
        }
    }
    /* The mean of (0.5 u)^2, u uniform, is 0.083 mm^2. */
    sum /= 30.0 * (double)event->n_hits;
    ck_assert_double_gt(sum, 0.04);
    ck_assert_double_lt(sum, 0.13);
}

ETX_TEST(test_train_augmentation_refused)
{
    const struct etx_train_augmentation jitter = {.jitter = 0.1f};
    const struct etx_train_augmentation drop = {.drop_hits = 0.9f};
    const float position[3] = {1.0f, 2.0f, 3.0f};
    struct etx_random random = etx_random_of_event(3, 0);
    scoped_event *bare = train_event(3, 5);
    scoped_event *single = NULL;
    etx_event *out = NULL;
    int n_failed = 0;

    ck_assert_fails(etx_augment_event(&out, bare, &random, &jitter),
        ETX_ERR_ARGUMENT, "no modules");
    ck_assert_ok(etx_event_create(&single, 1, NULL, position));
    for (int64_t number = 0; number < 50; number++) {
        random = etx_random_of_event(3, number);
        if (etx_augment_event(&out, single, &random, &drop) == ETX_OK)
            etx_event_free(out);
        else
            n_failed++;
    }
    ck_assert_int_gt(n_failed, 5);
    ck_assert_int_lt(n_failed, 45);
}

/* A stage that learns to do without cells says so in its model; the stages that
 * did not learn it still need them. */
ETX_TEST(test_train_augmentation_optional_cells)
{
    scoped_bench bench = train_bench_new(
        ETX_TRAIN_FILTER, 1, "{\"augmentation\": {\"drop_cells\": 0.5}}");
    etx_model *model = NULL;

    ck_assert_ok(etx_trainer_export(&model, bench.trainer));
    ck_assert_int_eq(model->filter.node_features.cells_optional, 1);
    ck_assert_int_eq(model->embedding.node_features.cells_optional, 0);
    etx_model_free(model);
}

/* Training events are augmented, validation events are not; true pairs reach
 * over hits that are gone. */
ETX_TEST(test_train_augmentation_trainer)
{
    scoped_bench bench = train_bench_new(
        ETX_TRAIN_EMBEDDING, 1, "{\"augmentation\": {\"drop_hits\": 0.9}}");
    const struct etx_train_events *training = &bench.trainer->training;

    ck_assert_ptr_eq(bench.trainer->validation.event[0]->event,
        bench.event[TRAIN_BENCH_EVENTS - 1]);
    for (int64_t k = 0; k < training->n; k++) {
        const struct etx_train_event *event = training->event[k];
        int64_t n_chained = 0;
        int64_t n_particles = 0;

        ck_assert_int_lt(event->event->n_hits, bench.event[k]->n_hits);
        ck_assert_int_eq(event->n_hits, bench.event[k]->n_hits);
        for (int64_t p = 0; p < event->event->n_particles; p++) {
            int64_t n = 0;

            for (int64_t i = 0; i < event->event->n_hits; i++)
                n += event->event->particle_row[i] == p;
            n_chained += n;
            n_particles += n > 0;
        }
        ck_assert_int_eq(event->truth.n_pairs, n_chained - n_particles);
    }
    train_bench_steps(bench.trainer, 2);
}
