/* test_train_differential.c -- a training comes to the same bits on any number
 * of threads and ranks, stopped and resumed, and with graphs that lie on disk.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_support.h"
#include "rank_threads.h"
#include "train_bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define N_STEPS   12
#define MAX_RANKS RANK_THREADS_MAX

/* A jump of the loss comes soon where one of 1.0001 counts. */
#define JUMPY(window, every)                                                   \
    "'stability': {'spike_factor': 1.0001, 'spike_window': " #window           \
    ", 'snapshot_every': " #every ", 'most_rollbacks': 100}"

/* What a program must show: rollbacks, an early end, steps without update. */
enum effect { NOTHING, ROLLBACKS, AN_END, SKIPS };

/* What may depend on the order of sums, of work or of draws. */
static const struct {
    int stage;
    const char *change; /* of the stage's config */
    enum effect effect;
} programs[] = {
    /* one graph a step; five: two ranks have 3 and 2, eight one or none */
    {ETX_TRAIN_EMBEDDING, "{}", NOTHING},
    {ETX_TRAIN_FILTER, "{}", NOTHING},
    {ETX_TRAIN_GNN, "{}", NOTHING},
    {ETX_TRAIN_EMBEDDING, "{'sampling': {'graphs': 5, 'order': 'drawn'}}",
        NOTHING},
    {ETX_TRAIN_FILTER, "{'sampling': {'graphs': 5, 'order': 'drawn'}}",
        NOTHING},
    {ETX_TRAIN_GNN,
        "{'sampling': {'graphs': 5, 'order': 'drawn', 'cache_mib': 0}}",
        NOTHING},
    /* ways to make one loss of the losses of several graphs */
    {ETX_TRAIN_FILTER,
        "{'sampling': {'graphs': 3}, 'loss': {'average': 'graphs'}}", NOTHING},
    {ETX_TRAIN_FILTER,
        "{'sampling': {'graphs': 3}, 'loss': {'reduction': 'equal'}}", NOTHING},
    {ETX_TRAIN_FILTER,
        "{'sampling': {'graphs': 3}, 'loss': {'reduction': 'balanced'}}",
        NOTHING},
    {ETX_TRAIN_FILTER,
        "{'sampling': {'graphs': 3, 'order': 'buckets'}, 'loss': "
        "{'reduction': 'mean'}}",
        NOTHING},
    /* stopping early; keeping the best; skipped and other scaled steps */
    {ETX_TRAIN_FILTER,
        "{'sampling': {'graphs': 3}, 'schedule': {'learning_rate': 0, "
        "'min_learning_rate': 0}, 'validation': {'patience': 2}}",
        AN_END},
    {ETX_TRAIN_FILTER,
        "{'sampling': {'graphs': 3}, 'validation': {'keep_best': true}}",
        NOTHING},
    {ETX_TRAIN_FILTER,
        "{'loss': {'positive_weight': 1e6}, 'loss_scaling': {'initial': "
        "8.507059173023462e37, 'double_every': 2}}",
        SKIPS},
    /* everything */
    {ETX_TRAIN_EMBEDDING,
        "{'schedule': {'warmup_epochs': 2, 'decay': 'step', 'decay_epochs': "
        "3}, 'truth': {'pairs': 'any', 'max_eta': 2, 'min_hits': 4, "
        "'drop_noise': true, 'same_particle': 'false'}, 'sampling': "
        "{'graphs': 2, 'order': 'buckets', 'pool': 50, 'queries_from': "
        "'signal', 'random_from_queries': true, 'count_true_twice': true}, "
        "'loss': {'average': 'graphs'}, 'augmentation': {'reflect_x': true}, "
        "'validation': {'keep_best': true, 'patience': 50, 'criterion': "
        "'efficiency'}, " JUMPY(3, 3) "}",
        ROLLBACKS},
    {ETX_TRAIN_FILTER,
        "{'optimiser': {'amsgrad': true}, 'truth': {'background_min_pt': "
        "0.4}, 'sampling': {'order': 'epochs', 'hard_share': 0.5, "
        "'chunk_edges': 100}, 'loss': {'reduction': 'equal', 'focal_gamma': "
        "1, 'hit_weight': 2}, 'validation': {'keep_best': true}, " JUMPY(
            1, 3) "}",
        ROLLBACKS},
    {ETX_TRAIN_GNN,
        "{'sampling': {'graphs': 3, 'cache_mib': 0}, 'loss': {'average': "
        "'graphs', 'reduction': 'balanced'}, 'validation': {'keep_best': "
        "true, 'patience': 50, 'criterion': 'auc'}, 'memory': "
        "{'checkpointing': true, 'precision': 'bf16'}, 'loss_scaling': "
        "{'initial': 256, 'double_every': 2}, " JUMPY(3, 3) "}",
        ROLLBACKS},
};

/* What came of a training. */
struct outcome {
    etx_training_report step, validation; /* the last ones */
    int32_t n_steps;                      /* that were made */
    char path[300];                       /* of its checkpoint */
};

/* Steps first .. end - 1, each third followed by a validation, until the
 * trainer is finished. */
static void train(
    struct outcome *out, etx_trainer *trainer, int32_t first, int32_t end)
{
    out->step.struct_size = sizeof out->step;
    for (int32_t k = first; k < end && !etx_trainer_is_finished(trainer); k++) {
        ck_assert_ok(etx_trainer_step(&out->step, trainer));
        out->n_steps++;
        if (k % 3 == 2)
            out->validation = train_bench_validate(trainer);
    }
    ck_assert_ok(etx_trainer_save_checkpoint(trainer, out->path));
}

static struct outcome outcome_at(const char *name)
{
    struct outcome out = {.n_steps = 0};

    (void)snprintf(out.path, sizeof out.path, "%s", io_path(name));
    return out;
}

static void assert_same_report(
    const etx_training_report *a, const etx_training_report *b)
{
    etx_training_report left = *a;

    /* What depends on clocks and on who computes what. */
    left.seconds = b->seconds;
    left.imbalance = b->imbalance;
    left.loss_spread = b->loss_spread;
    left.graphs_seconds = b->graphs_seconds;
    left.network_seconds = b->network_seconds;
    ck_assert_mem_eq(&left, b, sizeof left);
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    size_t size[2];
    scoped char *one = io_read(a->path, &size[0]);
    scoped char *two = io_read(b->path, &size[1]);

    ck_assert_int_eq(a->n_steps, b->n_steps);
    assert_same_report(&a->step, &b->step);
    assert_same_report(&a->validation, &b->validation);
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_msg(
        memcmp(one, two, size[0]) == 0, "%s is not %s", a->path, b->path);
}

/* ------------------------------------------------------- on one process -- */

/* A trainer of the row on the events of bench, with threads of its own. */
static struct train_bench join(
    const struct train_bench *bench, int row, int32_t n_threads)
{
    struct train_bench out = *bench;

    out.context = train_bench_context(n_threads);
    train_bench_add(&out, programs[row].stage, programs[row].change);
    return out;
}

#define scoped_joined SCOPED(train_bench_leave) struct train_bench

static struct outcome run_alone(
    const struct train_bench *bench, int row, int32_t n_threads)
{
    struct outcome out = outcome_at(n_threads == 1 ? "one" : "threads");
    scoped_joined own = join(bench, row, n_threads);

    train(&out, own.trainer, 0, N_STEPS);
    return out;
}

/* Stopped after some steps; another trainer goes on from there. */
static struct outcome run_resumed(
    const struct train_bench *bench, int row, int32_t stop)
{
    struct outcome out = outcome_at("resumed");
    scoped_joined first = join(bench, row, 2);
    scoped_joined second = join(bench, row, 1);

    train(&out, first.trainer, 0, stop);
    ck_assert_ok(etx_trainer_load_checkpoint(second.trainer, out.path));
    train(&out, second.trainer, stop, N_STEPS);
    return out;
}

/* The first time graphs are written to the folder, then read. */
static struct outcome run_cached(const struct train_bench *bench, int row)
{
    struct outcome out = outcome_at("cached");
    scoped_joined own = join(bench, row, 1);

    ck_assert_ok(etx_trainer_set_cache(own.trainer, io_path("graphs")));
    train(&out, own.trainer, 0, N_STEPS);
    return out;
}

/* -------------------------------------------------------------- on ranks -- */

struct group {
    const struct train_bench *bench;
    int row;
    int is_sharded; /* each event is held by one rank */
    struct outcome out[MAX_RANKS];
};

static void add_shards(
    etx_trainer *trainer, const struct train_bench *bench, const etx_team *team)
{
    for (int32_t k = 0; k < TRAIN_BENCH_EVENTS; k++) {
        const int32_t holder = k % team->n_ranks;

        ck_assert_ok(etx_trainer_add_event_of_rank(trainer,
            holder == team->rank ? bench->event[k] : NULL,
            etx_event_n_hits(bench->event[k]), holder,
            k == TRAIN_BENCH_EVENTS - 1));
    }
}

static void run_rank(struct rank_thread *thread, void *argument)
{
    struct group *group = argument;
    struct outcome *out = &group->out[thread->rank];
    scoped_joined own = *group->bench;
    etx_team team = {.struct_size = sizeof team};

    own.context = train_bench_context(1);
    train_bench_create(
        &own, programs[group->row].stage, programs[group->row].change);
    ck_assert_ok(etx_dist_team(&team, thread->dist));
    if (group->is_sharded)
        ck_assert_ok(etx_trainer_set_team(own.trainer, &team));
    for (int k = 0; k < TRAIN_BENCH_EVENTS && !group->is_sharded; k++)
        ck_assert_ok(etx_trainer_add_event(
            own.trainer, own.event[k], k == TRAIN_BENCH_EVENTS - 1));
    if (group->is_sharded)
        add_shards(own.trainer, &own, &team);
    else
        ck_assert_ok(etx_trainer_set_team(own.trainer, &team));
    train(out, own.trainer, 0, N_STEPS);
    ck_assert_ok(etx_dist_agree(
        thread->dist, etx_trainer_hash(own.trainer), "parameters"));
}

static void check_ranks(const struct train_bench *bench, int row,
    int32_t n_ranks, const struct outcome *expected)
{
    struct group group = {.bench = bench, .row = row};
    etx_dist_options options;

    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.assignment =
        n_ranks == 4 ? ETX_ASSIGN_IN_TURN : ETX_ASSIGN_BALANCED;
    for (group.is_sharded = 0; group.is_sharded < 2; group.is_sharded++) {
        for (int32_t r = 0; r < n_ranks; r++)
            group.out[r] = outcome_at((char[]){'r', (char)('0' + r), '\0'});
        rank_threads_run(n_ranks, &options, run_rank, &group);
        for (int32_t r = 0; r < n_ranks; r++)
            assert_same(&group.out[r], expected);
    }
}

/* ---------------------------------------------------------------- tests -- */

static struct train_bench new_bench(int row)
{
    return train_bench_new(programs[row].stage, 1, programs[row].change);
}

IO_TEST(test_train_differential_alone, .rows = ROWS(programs))
{
    scoped_bench bench = new_bench(_i);
    const struct outcome whole = run_alone(&bench, _i, 1);
    struct outcome other = run_alone(&bench, _i, 2 + _i % 3);

    ck_assert_int_eq(
        whole.step.n_rollbacks > 0, programs[_i].effect == ROLLBACKS);
    ck_assert_int_eq(whole.step.n_skipped > 0, programs[_i].effect == SKIPS);
    ck_assert_int_eq(whole.n_steps < N_STEPS, programs[_i].effect == AN_END);
    assert_same(&other, &whole);
    for (int32_t stop = 1 + _i % 2; stop < whole.n_steps; stop += 4) {
        other = run_resumed(&bench, _i, stop);
        assert_same(&other, &whole);
    }
    if (programs[_i].stage == ETX_TRAIN_EMBEDDING)
        return; /* which has no graphs */
    ck_assert_int_eq(mkdir(io_path("graphs"), 0700), 0);
    for (int k = 0; k < 2; k++) {
        other = run_cached(&bench, _i);
        assert_same(&other, &whole);
    }
    etx_test_remove(io_path("graphs"));
}

IO_TEST(test_train_differential_ranks, .rows = ROWS(programs))
{
    scoped_bench bench = new_bench(_i);
    const struct outcome whole = run_alone(&bench, _i, 1);

    for (int32_t n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks *= 2)
        if (n_ranks <= 4 || _i < 6)
            check_ranks(&bench, _i, n_ranks, &whole);
}
