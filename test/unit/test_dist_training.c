/* test_dist_training.c -- training on ranks that are threads: what is not the
 * same bits (test_train_differential.c), how work is shared, and failures.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "rank_threads.h"
#include "train_bench.h"

static const char *const several =
    "{'sampling': {'graphs': 5, 'order': 'drawn'}}";

/* The ranks of a group, each with a trainer of its own on the same events. */
struct group {
    const struct train_bench *bench;
    int stage;
    const char *change;                         /* of the config */
    etx_training_report step[RANK_THREADS_MAX]; /* the first */
    float *gradient[RANK_THREADS_MAX];          /* of it, [n_values]; or NULL */
    uint64_t hash[RANK_THREADS_MAX];
};

static void step(struct group *group, int32_t rank, etx_trainer *trainer)
{
    const size_t bytes =
        (size_t)trainer->stage->network->n_values * sizeof(float);

    group->step[rank].struct_size = sizeof group->step[rank];
    ck_assert_ok(etx_trainer_step(&group->step[rank], trainer));
    group->hash[rank] = etx_trainer_hash(trainer);
    if (group->gradient[rank] != NULL)
        memcpy(group->gradient[rank], trainer->state.gradient, bytes);
}

static void step_on_rank(struct rank_thread *thread, void *argument)
{
    struct group *group = argument;
    struct train_bench own = *group->bench;
    etx_team team = {.struct_size = sizeof team};

    own.context = train_bench_context(1);
    train_bench_add(&own, group->stage, group->change);
    ck_assert_ok(etx_dist_team(&team, thread->dist));
    ck_assert_ok(etx_trainer_set_team(own.trainer, &team));
    step(group, thread->rank, own.trainer);
    train_bench_leave(&own);
}

/* The sum in the transport's order is another rounding and nothing else. */
ETX_TEST(test_dist_training_fast)
{
    enum { N_RANKS = 4 };
    scoped_bench bench = train_bench_new(ETX_TRAIN_GNN, 1, several);
    const int64_t n = bench.trainer->stage->network->n_values;
    scoped float *gradient = etx_test_alloc((N_RANKS + 1) * n, sizeof(float));
    struct group group = {&bench, ETX_TRAIN_GNN, several, .hash = {0}};
    etx_dist_options options;
    double largest = 0.0;

    for (int32_t r = 0; r <= N_RANKS; r++)
        group.gradient[r] = gradient + r * n;
    step(&group, N_RANKS, bench.trainer); /* alone */
    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.is_fast = 1;
    rank_threads_run(N_RANKS, &options, step_on_rank, &group);
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, fabs((double)group.gradient[N_RANKS][k]));
    ck_assert_double_gt(largest, 0.0);
    for (int32_t r = 0; r < N_RANKS; r++) {
        for (int64_t k = 0; k < n; k++)
            ck_assert_double_eq_tol((double)group.gradient[r][k],
                (double)group.gradient[N_RANKS][k], 1e-6 * largest);
        ck_assert_uint_eq(group.hash[r], group.hash[0]);
    }
}

/* Five graphs of about the same size on two ranks: 3 against 2, a mean of
 * 2.5. */
ETX_TEST(test_dist_training_imbalance)
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, several);
    struct group group = {&bench, ETX_TRAIN_FILTER, several, .hash = {0}};
    const etx_training_report *const report = &group.step[0];

    rank_threads_run(2, NULL, step_on_rank, &group);
    ck_assert_double_gt(report->imbalance, 1.1);
    ck_assert_double_lt(report->imbalance, 1.3);
    ck_assert_double_gt(report->loss_spread, 0.0);
    ck_assert_double_gt(report->graphs_seconds, 0.0);
    ck_assert_double_gt(report->network_seconds, 0.0);
    ck_assert_double_lt(
        report->graphs_seconds + report->network_seconds, report->seconds);
}

/* ------------------------------------------------------------- failures -- */

static void hang_on_rank_1(struct rank_thread *thread, void *argument)
{
    const struct train_bench *bench = argument;
    struct train_bench own = *bench;
    etx_training_report report = {.struct_size = sizeof report};
    etx_team team = {.struct_size = sizeof team};

    if (thread->rank == 1)
        return;
    own.context = train_bench_context(1);
    train_bench_add(&own, ETX_TRAIN_EMBEDDING, several);
    ck_assert_ok(etx_dist_team(&team, thread->dist));
    ck_assert_ok(etx_trainer_set_team(own.trainer, &team));
    ck_assert_fails(
        etx_trainer_step(&report, own.trainer), ETX_ERR_IO, "within 100 ms");
    train_bench_leave(&own);
}

ETX_TEST(test_dist_training_rank_that_hangs)
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, several);
    etx_dist_options options;

    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.deadline = 0.1;
    rank_threads_run(2, &options, hang_on_rank_1, &bench);
}

static void disagree(struct rank_thread *thread, void *argument)
{
    (void)argument;
    ck_assert_fails(
        etx_dist_agree(thread->dist, (uint64_t)thread->rank / 2, "halves"),
        ETX_ERR_FORMAT, "rank 2 has");
}

ETX_TEST(test_dist_training_ranks_that_differ)
{
    rank_threads_run(4, NULL, disagree, NULL);
}
