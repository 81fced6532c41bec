/* train_bench.h -- a trainer with small events, ready to step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_TRAIN_BENCH_H
#define ETX_TEST_TRAIN_BENCH_H

#include "support.h"
#include "train/trainer.h"

#define TRAIN_BENCH_EVENTS 3 /* the last one to validate on */

/* A context, events and a trainer of one stage. */
struct train_bench {
    etx_context *context;
    etx_event *event[TRAIN_BENCH_EVENTS];
    etx_model *start;
    etx_trainer *trainer;
};

etx_context *train_bench_context(int32_t n_threads);

/* Train the stages before `stage` for 20 steps each, and make a trainer of
 * `stage` on them. change, when not NULL, is JSON whose sections replace
 * sections of that stage's config. */
struct train_bench train_bench_new(
    int stage, int32_t n_threads, const char *change);
/* The same in a context, which becomes the bench's. */
void train_bench_open_in(struct train_bench *bench, etx_context *context,
    int stage, const char *change);
/* A trainer of the stage on bench->start; without and with its events. */
void train_bench_create(
    struct train_bench *bench, int stage, const char *change);
void train_bench_add(struct train_bench *bench, int stage, const char *change);
void train_bench_close(struct train_bench *bench);
/* A local that is closed at the end of its block. */
#define scoped_bench SCOPED(train_bench_close) struct train_bench

/* A context and a trainer of its own on the events and the start model of
 * another bench, for another thread; closed by train_bench_leave. */
void train_bench_join(struct train_bench *bench,
    const struct train_bench *other, int stage, const char *change);
void train_bench_leave(struct train_bench *bench);

void train_bench_steps(etx_trainer *trainer, int n);

/* Two trainers have the same parameters and moments, bit for bit. */
#define ck_assert_same_state(a, b)                                             \
    do {                                                                       \
        const size_t bytes_ =                                                  \
            (size_t)(a)->stage->network->n_values * sizeof(float);             \
        ck_assert_mem_eq(                                                      \
            (a)->stage->network->value, (b)->stage->network->value, bytes_);   \
        ck_assert_mem_eq((a)->state.moments.m, (b)->state.moments.m, bytes_);  \
        ck_assert_mem_eq((a)->state.moments.v, (b)->state.moments.v, bytes_);  \
    } while (0)

/* A checkpoint of this process: its path, write, read and remove it. */
const char *train_bench_path(void);
void train_bench_save(const etx_trainer *trainer);
etx_status train_bench_load(etx_trainer *trainer);
void train_bench_remove(void);

/* The bytes of a file, to be freed; and a file of these bytes. */
char *train_bench_read(const char *path, long *size);
void train_bench_write(const char *path, const char *bytes, long size);

/* Validate, and return the report. */
etx_training_report train_bench_validate(etx_trainer *trainer);

/* The loss of a step on the first n_events, whose gradient is left in the
 * trainer; nothing is updated. */
double train_bench_loss(struct train_bench *bench, int32_t n_events);

/* The gradient of that loss against central differences along random
 * directions. */
void train_bench_check_gradient(struct train_bench *bench, int32_t n_events);

#endif
