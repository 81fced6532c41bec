/* test_dist_training.c -- training on ranks that are threads.
 *
 * Every rank has a context and a trainer of its own; what they come to must be
 * what one trainer alone comes to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "train/slices.h"
#include "train_bench.h"

#define MAX_RANKS 8
#define N_STEPS   8
#define N_STAGES  ETX_N_TRAIN_STAGES

/* What every rank of a test does. */
struct plan {
    int stage;
    int32_t n_ranks;
    etx_dist_options options;
    const char *change; /* of the config */
    int32_t is_sharded; /* each event is held by one rank */
    int32_t hangs;      /* the last rank does nothing */
    int32_t validates;  /* after every step, until the trainer is finished */
    const struct train_bench *bench; /* of the one alone */
};

/* One rank and what came of it. */
struct rank {
    const struct plan *plan;
    etx_dist *dist;
    struct train_bench bench;
    pthread_t thread;
    etx_status status;
    char message[256];
    uint64_t hash;
    int32_t n_steps_made;
    etx_training_report step, validation;
    float *gradient; /* of the first step, [n_values] */
};

static const char *const several =
    "{\"sampling\": {\"graphs\": 5, \"order\": \"drawn\"}}";

/* A plan on a new bench, which is closed by train_bench_close. */
static struct plan make_plan(struct train_bench *bench, int stage,
    int32_t n_ranks, const char *change)
{
    struct plan plan = {.stage = stage,
        .n_ranks = n_ranks,
        .change = change,
        .bench = bench};

    train_bench_open(bench, stage, 1, change);

    ck_assert_int_eq(
        etx_dist_options_init(&plan.options, sizeof plan.options), ETX_OK);
    return plan;
}

static etx_status note(struct rank *rank, etx_status status)
{
    rank->status = status;
    if (status != ETX_OK) {
        strncpy(rank->message, etx_last_error(), sizeof rank->message - 1);
        etx_dist_give_up(rank->dist);
    }
    return status;
}

static etx_status run_steps(struct rank *rank)
{
    etx_trainer *trainer = rank->bench.trainer;
    const size_t bytes =
        (size_t)trainer->stage->network->n_values * sizeof(float);
    etx_status status = ETX_OK;

    rank->step.struct_size = sizeof rank->step;
    rank->validation.struct_size = sizeof rank->validation;
    for (int k = 0; k < N_STEPS && status == ETX_OK; k++) {
        status = etx_trainer_step(trainer, &rank->step);
        if (status == ETX_OK && k == 0)
            memcpy(rank->gradient, trainer->gradient, bytes);
        rank->n_steps_made++;
        if (status == ETX_OK && rank->plan->validates)
            status = etx_trainer_validate(trainer, &rank->validation);
        rank->step.is_finished = etx_trainer_is_finished(trainer);
        if (rank->plan->validates && rank->step.is_finished)
            break;
    }
    if (status == ETX_OK)
        status = etx_trainer_validate(trainer, &rank->validation);
    rank->hash = etx_trainer_hash(trainer);
    if (status == ETX_OK && rank->dist != NULL && !rank->plan->options.is_fast)
        status = etx_dist_agree(rank->dist, rank->hash, "parameters");
    return status;
}

static void *run_rank(void *argument)
{
    struct rank *rank = argument;

    if (rank->plan->hangs &&
        etx_dist_rank(rank->dist) == rank->plan->n_ranks - 1)
        return NULL;
    (void)note(rank, run_steps(rank));
    return NULL;
}

/* The events of the bench again, each with one rank alone. */
static void shard(struct rank *rank)
{
    struct etx_trainer *trainer = rank->bench.trainer;
    char *config = json_dumps(trainer->config.json, 0);
    etx_trainer *sharded = NULL;
    etx_team team;

    ck_assert_int_eq(etx_trainer_create(&sharded, rank->bench.context, config,
                         rank->bench.start),
        ETX_OK);
    free(config);
    ck_assert_int_eq(etx_dist_team(&team, rank->dist), ETX_OK);
    ck_assert_int_eq(etx_trainer_set_team(sharded, &team), ETX_OK);
    for (int32_t k = 0; k < TRAIN_BENCH_EVENTS; k++) {
        const int32_t holder = k % team.n_ranks;

        ck_assert_int_eq(etx_trainer_add_event_of_rank(sharded,
                             holder == team.rank ? rank->bench.event[k] : NULL,
                             etx_event_n_hits(rank->bench.event[k]), holder,
                             k == TRAIN_BENCH_EVENTS - 1),
            ETX_OK);
    }
    etx_trainer_free(trainer);
    rank->bench.trainer = sharded;
}

static void open_rank(struct rank *rank, const struct plan *plan,
    etx_dist *dist)
{
    etx_team team;

    *rank = (struct rank){.plan = plan, .dist = dist};
    train_bench_join(&rank->bench, plan->bench, plan->stage, plan->change);
    if (dist != NULL && plan->is_sharded) {
        shard(rank);
    } else if (dist != NULL) {
        ck_assert_int_eq(etx_dist_team(&team, dist), ETX_OK);
        ck_assert_int_eq(
            etx_trainer_set_team(rank->bench.trainer, &team), ETX_OK);
    }
    rank->gradient = calloc(
        (size_t)rank->bench.trainer->stage->network->n_values, sizeof(float));
    ck_assert_ptr_nonnull(rank->gradient);
}

static void close_rank(struct rank *rank)
{
    train_bench_leave(&rank->bench);
    etx_dist_close(rank->dist);
    free(rank->gradient);
}

/* Train on all ranks, whatever comes of it; close_rank each. */
static void try_plan(struct rank *rank, const struct plan *plan)
{
    etx_dist *dist[MAX_RANKS] = {NULL};

    ck_assert_int_eq(
        etx_dist_open_threads(dist, plan->n_ranks, &plan->options), ETX_OK);
    for (int32_t r = 0; r < plan->n_ranks; r++)
        open_rank(rank + r, plan, dist[r]);
    for (int32_t r = 0; r < plan->n_ranks; r++)
        ck_assert_int_eq(
            pthread_create(&rank[r].thread, NULL, run_rank, rank + r), 0);
    for (int32_t r = 0; r < plan->n_ranks; r++)
        ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
}

static void run_plan(struct rank *rank, const struct plan *plan)
{
    try_plan(rank, plan);
    for (int32_t r = 0; r < plan->n_ranks; r++)
        ck_assert_msg(rank[r].status == ETX_OK, "rank %d: %s", (int)r,
            rank[r].message);
}

/* The same without a team. */
static void run_alone(struct rank *rank, const struct plan *plan)
{
    open_rank(rank, plan, NULL);
    ck_assert_msg(
        note(rank, run_steps(rank)) == ETX_OK, "%s", rank->message);
}

/* A validation says the same, but for its time. */
static void check_same_report(
    const etx_training_report *a, const etx_training_report *b)
{
    etx_training_report left = *a;
    etx_training_report right = *b;

    left.seconds = right.seconds = 0.0;
    left.imbalance = right.imbalance = 0.0;
    left.loss_spread = right.loss_spread = 0.0;
    left.graphs_seconds = right.graphs_seconds = 0.0;
    left.network_seconds = right.network_seconds = 0.0;
    ck_assert_mem_eq(&left, &right, sizeof left);
}

static void check_same(const struct rank *alone, const struct plan *plan)
{
    struct rank rank[MAX_RANKS];

    run_plan(rank, plan);
    for (int32_t r = 0; r < plan->n_ranks; r++) {
        ck_assert_uint_eq(rank[r].hash, alone->hash);
        ck_assert_int_eq(rank[r].n_steps_made, alone->n_steps_made);
        check_same_report(&rank[r].step, &alone->step);
        check_same_report(&rank[r].validation, &alone->validation);
        close_rank(rank + r);
    }
}

/* ------------------------------------------------------------ same bits -- */

/* Of a step's five graphs two ranks have 3 and 2, eight have none or one. */
START_TEST(test_dist_training_same_bits_on_any_ranks)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, _i, 1, several);
    struct rank alone;

    run_alone(&alone, &plan);
    for (plan.n_ranks = 2; plan.n_ranks <= MAX_RANKS; plan.n_ranks *= 2) {
        plan.options.deal =
            plan.n_ranks == 4 ? ETX_DEAL_IN_TURN : ETX_DEAL_BALANCED;
        check_same(&alone, &plan);
    }
    close_rank(&alone);
    train_bench_close(&bench);
}
END_TEST

/* One graph a step: all ranks but one have none, and one process had these
 * bits before there were ranks. */
START_TEST(test_dist_training_empty_ranks)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, _i, 1, NULL);
    struct rank alone;

    run_alone(&alone, &plan);
    plan.n_ranks = 2;
    check_same(&alone, &plan);
    close_rank(&alone);
    train_bench_close(&bench);
}
END_TEST

START_TEST(test_dist_training_sharded_events)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, _i, 1, several);
    struct rank alone;

    run_alone(&alone, &plan);
    plan.is_sharded = 1;
    for (plan.n_ranks = 2; plan.n_ranks <= 4; plan.n_ranks *= 2)
        check_same(&alone, &plan);
    close_rank(&alone);
    train_bench_close(&bench);
}
END_TEST

/* Every way to make one loss of the losses of several graphs. */
static const char *const losses[] = {
    "{\"sampling\": {\"graphs\": 3}, \"loss\": {\"average\": \"graphs\"}}",
    "{\"sampling\": {\"graphs\": 3}, \"loss\": {\"reduction\": \"equal\"}}",
    "{\"sampling\": {\"graphs\": 3}, \"loss\": {\"reduction\": \"balanced\"}}",
    "{\"sampling\": {\"graphs\": 3, \"order\": \"buckets\"},"
    " \"loss\": {\"reduction\": \"mean\"}}"};

START_TEST(test_dist_training_reductions)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, ETX_TRAIN_FILTER, 1, losses[_i]);
    struct rank alone;

    run_alone(&alone, &plan);
    plan.n_ranks = 2;
    check_same(&alone, &plan);
    close_rank(&alone);
    train_bench_close(&bench);
}
END_TEST

/* Stopping early, keeping the best and going back after a spike. */
static const char *const decisions[] = {
    "{\"sampling\": {\"graphs\": 3}, \"schedule\": {\"learning_rate\": 0,"
    "\"min_learning_rate\": 0}, \"validation\": {\"patience\": 2}}",
    "{\"sampling\": {\"graphs\": 3}, \"validation\": {\"keep_best\": true}}",
    "{\"sampling\": {\"graphs\": 2, \"hits\": 60},"
    "\"schedule\": {\"learning_rate\": 0.001},"
    "\"stability\": {\"spike_factor\": 1.0001,"
    "\"spike_window\": 3, \"snapshot_every\": 4, \"most_rollbacks\": 9}}"};

START_TEST(test_dist_training_decisions)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, ETX_TRAIN_FILTER, 1, decisions[_i]);
    struct rank alone;

    plan.validates = 1;
    run_alone(&alone, &plan);
    ck_assert_int_eq(alone.step.is_finished, _i == 0);
    ck_assert_int_eq(alone.n_steps_made, _i == 0 ? 3 : N_STEPS);
    ck_assert_int_eq(alone.step.n_rollbacks > 0, _i == 2);
    ck_assert_int_ge(alone.bench.trainer->best.result.step, 1);
    plan.n_ranks = 2;
    check_same(&alone, &plan);
    close_rank(&alone);
    train_bench_close(&bench);
}
END_TEST

/* The sum in the transport's order is another rounding and nothing else. */
START_TEST(test_dist_training_fast)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, ETX_TRAIN_GNN, 1, several);
    struct rank alone;
    struct rank rank[MAX_RANKS];
    double largest = 0.0;

    run_alone(&alone, &plan);
    plan.options.is_fast = 1;
    plan.n_ranks = 4;
    run_plan(rank, &plan);
    const int64_t n = alone.bench.trainer->stage->network->n_values;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, fabs((double)alone.gradient[k]));
    ck_assert_double_gt(largest, 0.0);
    for (int32_t r = 0; r < plan.n_ranks; r++) {
        for (int64_t k = 0; k < n; k++)
            ck_assert_double_eq_tol((double)rank[r].gradient[k],
                (double)alone.gradient[k], 1e-6 * largest);
        ck_assert_uint_eq(rank[r].hash, rank[0].hash);
        close_rank(rank + r);
    }
    close_rank(&alone);
    train_bench_close(&bench);
}
END_TEST

/* -------------------------------------------------------------- dealing -- */

/* Five graphs of about the same size on two ranks: 3 against 2, a mean of
 * 2.5. */
START_TEST(test_dist_training_imbalance)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, ETX_TRAIN_FILTER, 2,
        "{\"sampling\": {\"graphs\": 5}}");
    struct rank rank[MAX_RANKS];

    run_plan(rank, &plan);
    ck_assert_double_gt(rank[0].step.imbalance, 1.1);
    ck_assert_double_lt(rank[0].step.imbalance, 1.3);
    ck_assert_double_gt(rank[0].step.loss_spread, 0.0);
    ck_assert_double_gt(rank[0].step.graphs_seconds, 0.0);
    ck_assert_double_gt(rank[0].step.network_seconds, 0.0);
    ck_assert_double_lt(
        rank[0].step.graphs_seconds + rank[0].step.network_seconds,
        rank[0].step.seconds);
    for (int32_t r = 0; r < plan.n_ranks; r++)
        close_rank(rank + r);
    train_bench_close(&bench);
}
END_TEST

/* ------------------------------------------------------------- the tree -- */

/* The balanced tree over slices first .. first + n, as a definition: the left
 * subtree has the largest power of two of them that leaves some. */
static float add_tree(const float *value, int n)
{
    int n_left = 1;

    if (n == 1)
        return value[0];
    while (2 * n_left < n)
        n_left *= 2;
    return add_tree(value, n_left) + add_tree(value + n_left, n - n_left);
}

START_TEST(test_dist_gradient_sum)
{
    float value[9], taken[9];
    float *slice[9];
    int n_unlike = 0;

    for (int n = 1; n <= 9; n++) {
        float in_turn = 0.0f;

        for (int k = 0; k < n; k++) {
            value[k] = taken[k] = 1.0f / (float)(k + 3);
            slice[k] = taken + k;
            in_turn += value[k];
        }
        ck_assert_int_eq(etx_gradient_sum(slice, n, 1), ETX_OK);
        ck_assert(taken[0] == add_tree(value, n));
        n_unlike += taken[0] != in_turn;
    }
    ck_assert_int_gt(n_unlike, 0);
    ck_assert_int_eq(etx_gradient_sum(NULL, 2, 1), ETX_ERR_ARGUMENT);
}
END_TEST

/* ------------------------------------------------------------- failures -- */

START_TEST(test_dist_training_rank_that_hangs)
{
    struct train_bench bench;
    struct plan plan = make_plan(&bench, ETX_TRAIN_EMBEDDING, 2, several);
    struct rank rank[2];

    plan.hangs = 1;
    plan.options.deadline = 0.1;
    try_plan(rank, &plan);
    ck_assert_int_eq(rank[0].status, ETX_ERR_IO);
    ck_assert_msg(strstr(rank[0].message, "within 100 ms") != NULL, "%s",
        rank[0].message);
    for (int32_t r = 0; r < 2; r++)
        close_rank(rank + r);
    train_bench_close(&bench);
}
END_TEST

static void *disagree(void *argument)
{
    struct rank *rank = argument;

    (void)note(rank, etx_dist_agree(rank->dist,
                         (uint64_t)etx_dist_rank(rank->dist) / 2, "halves"));
    return NULL;
}

START_TEST(test_dist_training_ranks_that_differ)
{
    const struct plan plan = {.n_ranks = 4};
    struct rank rank[4];
    etx_dist *dist[4];

    ck_assert_int_eq(etx_dist_open_threads(dist, 4, NULL), ETX_OK);
    for (int32_t r = 0; r < 4; r++) {
        rank[r] = (struct rank){.plan = &plan, .dist = dist[r]};
        ck_assert_int_eq(
            pthread_create(&rank[r].thread, NULL, disagree, rank + r), 0);
    }
    for (int32_t r = 0; r < 4; r++) {
        ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
        ck_assert_int_eq(rank[r].status, ETX_ERR_FORMAT);
        ck_assert_msg(strstr(rank[r].message, "rank 2 has") != NULL, "%s",
            rank[r].message);
        etx_dist_close(dist[r]);
    }
}
END_TEST

/* -------------------------------------------------------- a team of one -- */

/* Rank 0 of 2 beside a rank that brings zeros, or hashes of its own. */
struct lone {
    int32_t n_sums;
    int32_t is_other; /* the other rank's hash is not that of this one */
};

static etx_status sum_alone(void *self, double *values, int64_t n)
{
    struct lone *lone = self;

    if (++lone->n_sums == 1 && n == 4) {
        values[2] = values[0];
        values[3] = values[1] + lone->is_other;
    }
    return ETX_OK;
}

static etx_status gather_alone(
    void *self, uint64_t *all, const uint64_t *mine, const int64_t *count)
{
    (void)self;
    memcpy(all, mine, (size_t)count[0] * sizeof *all);
    return ETX_OK;
}

static etx_status sum_slices_alone(void *self, float *sum, int64_t n_values,
    int64_t n_slices, const int32_t *owner, float *const *slice)
{
    (void)self;
    memset(sum, 0, (size_t)n_values * sizeof *sum);
    for (int64_t k = 0; k < n_slices; k++)
        for (int64_t v = 0; owner[k] == 0 && v < n_values; v++)
            sum[v] += slice[k][v];
    return ETX_OK;
}

static etx_team make_lone(struct lone *lone)
{
    return (etx_team){.struct_size = sizeof(etx_team),
        .n_ranks = 2,
        .self = lone,
        .sum = sum_alone,
        .gather = gather_alone,
        .sum_slices = sum_slices_alone};
}

/* Ranks that deal otherwise find it out before the first gradient. */
START_TEST(test_dist_training_first_step_agrees)
{
    struct train_bench bench;
    struct lone lone = {.is_other = _i};
    const etx_team team = make_lone(&lone);
    etx_training_report report = {.struct_size = sizeof report};

    train_bench_open(&bench, ETX_TRAIN_FILTER, 1, several);
    ck_assert_int_eq(etx_trainer_set_team(bench.trainer, &team), ETX_OK);
    ck_assert_int_eq(etx_trainer_step(bench.trainer, &report),
        _i == 0 ? ETX_OK : ETX_ERR_FORMAT);
    if (_i == 1) {
        ck_assert_int_eq(lone.n_sums, 1);
        ck_assert_ptr_nonnull(
            strstr(etx_last_error(), "rank 1 has others than rank 0"));
    }
    train_bench_close(&bench);
}
END_TEST

/* Before an event of a rank that has had one the ranks meet. */
START_TEST(test_dist_training_validations_meet)
{
    struct train_bench bench;
    struct lone lone = {.n_sums = 1};
    const etx_team team = make_lone(&lone);
    etx_training_report report = {.struct_size = sizeof report};
    int32_t n_first;

    train_bench_open(&bench, ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_int_eq(etx_trainer_set_team(bench.trainer, &team), ETX_OK);
    ck_assert_int_eq(etx_trainer_validate(bench.trainer, &report), ETX_OK);
    n_first = lone.n_sums;
    lone.n_sums = 1;
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(etx_trainer_add_event_of_rank(bench.trainer,
                             bench.event[0], etx_event_n_hits(bench.event[0]),
                             0, 1),
            ETX_OK);
    ck_assert_int_eq(etx_trainer_validate(bench.trainer, &report), ETX_OK);
    /* The free event is the other rank's, which has less work. */
    ck_assert_int_eq(lone.n_sums, n_first + 2);
    train_bench_close(&bench);
}
END_TEST

START_TEST(test_dist_training_team_comes_first)
{
    struct train_bench bench;
    struct lone lone = {.n_sums = 1};
    const etx_team team = make_lone(&lone);

    train_bench_open(&bench, ETX_TRAIN_FILTER, 1, NULL);
    train_bench_steps(bench.trainer, 1);
    ck_assert_int_eq(
        etx_trainer_set_team(bench.trainer, &team), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "made 1 steps"));
    train_bench_close(&bench);
    train_bench_open(&bench, ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_int_eq(etx_trainer_set_team(bench.trainer, &team), ETX_OK);
    ck_assert_int_eq(
        etx_trainer_add_event_of_rank(bench.trainer, NULL, 50, 1, 0), ETX_OK);
    ck_assert_int_eq(
        etx_trainer_set_team(bench.trainer, NULL), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "belong to ranks"));
    train_bench_close(&bench);
}
END_TEST

/* ------------------------------------------------------------ arguments -- */

START_TEST(test_dist_training_arguments)
{
    struct train_bench bench;
    etx_dist_options options;
    etx_dist *dist[2] = {NULL, NULL};
    etx_dist_statistics statistics;
    etx_team team;
    double value = 2.5;

    train_bench_open(&bench, ETX_TRAIN_EMBEDDING, 1, NULL);
    ck_assert_int_eq(
        etx_dist_options_init(&options, sizeof options), ETX_OK);
    ck_assert_double_eq(options.deadline, 60.0);
    ck_assert_int_eq(etx_dist_options_init(&options, 4), ETX_ERR_ARGUMENT);
    options.deadline = 0.0;
    ck_assert_int_eq(
        etx_dist_open_threads(dist, 2, &options), ETX_ERR_ARGUMENT);
    options.deadline = 1.0;
    options.deal = 2;
    ck_assert_int_eq(
        etx_dist_open_threads(dist, 2, &options), ETX_ERR_ARGUMENT);
    ck_assert_int_eq(etx_dist_open_threads(NULL, 2, NULL), ETX_ERR_ARGUMENT);
    ck_assert_int_eq(etx_dist_open_threads(dist, 2, NULL), ETX_OK);
    ck_assert_int_eq(etx_dist_rank(dist[1]), 1);
    ck_assert_int_eq(etx_dist_n_ranks(dist[1]), 2);
    ck_assert_int_eq(etx_dist_team(&team, dist[1]), ETX_OK);
    ck_assert_int_eq(etx_trainer_set_team(bench.trainer, &team), ETX_OK);
    ck_assert_int_eq(etx_trainer_add_event_of_rank(
                         bench.trainer, NULL, 5, 2, 0),
        ETX_ERR_ARGUMENT);
    ck_assert_int_eq(etx_trainer_add_event_of_rank(
                         bench.trainer, NULL, 5, 1, 0),
        ETX_ERR_ARGUMENT);
    team.rank = 2;
    ck_assert_int_eq(
        etx_trainer_set_team(bench.trainer, &team), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "rank 2 of 2"));
    ck_assert_int_eq(etx_trainer_set_team(bench.trainer, NULL), ETX_OK);
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
    ck_assert_int_eq(etx_dist_open_threads(dist, 1, NULL), ETX_OK);
    ck_assert_int_eq(etx_dist_barrier(dist[0]), ETX_OK);
    ck_assert_int_eq(etx_dist_sum(dist[0], &value, 1), ETX_OK);
    ck_assert_double_eq(value, 2.5);
    ck_assert_int_eq(etx_dist_sum(dist[0], &value, -1), ETX_ERR_ARGUMENT);
    ck_assert_int_eq(etx_dist_agree(dist[0], 7, "seven"), ETX_OK);
    ck_assert_int_eq(
        etx_dist_get_statistics(&statistics, dist[0]), ETX_OK);
    ck_assert_int_eq(statistics.n_calls, 2);
    etx_dist_end_processes(dist[0], 3); /* threads: returns */
    ck_assert_int_ne(etx_dist_barrier(dist[0]), ETX_OK);
    etx_dist_close(dist[0]);
    etx_dist_close(NULL);
    train_bench_close(&bench);
}
END_TEST

/* The archive that the tests link has no MPI. */
START_TEST(test_dist_training_without_mpi)
{
    etx_dist *dist = NULL;

    ck_assert_int_eq(etx_dist_has_mpi(), 0);
    ck_assert_int_eq(etx_dist_open_mpi(&dist, NULL), ETX_ERR_UNSUPPORTED);
    ck_assert_ptr_null(dist);
}
END_TEST

Suite *etx_suite_dist_training(void);
Suite *etx_suite_dist_training(void)
{
    Suite *suite = suite_create("dist_training");
    TCase *tests = tcase_create("dist_training");

    tcase_set_timeout(tests, 60.0);
    tcase_add_loop_test(
        tests, test_dist_training_same_bits_on_any_ranks, 0, N_STAGES);
    tcase_add_loop_test(tests, test_dist_training_empty_ranks, 0, N_STAGES);
    tcase_add_loop_test(
        tests, test_dist_training_sharded_events, 0, N_STAGES);
    tcase_add_loop_test(tests, test_dist_training_reductions, 0,
        (int)(sizeof losses / sizeof *losses));
    tcase_add_loop_test(tests, test_dist_training_decisions, 0,
        (int)(sizeof decisions / sizeof *decisions));
    tcase_add_test(tests, test_dist_training_fast);
    tcase_add_test(tests, test_dist_training_imbalance);
    tcase_add_test(tests, test_dist_gradient_sum);
    tcase_add_test(tests, test_dist_training_rank_that_hangs);
    tcase_add_test(tests, test_dist_training_ranks_that_differ);
    tcase_add_loop_test(tests, test_dist_training_first_step_agrees, 0, 2);
    tcase_add_test(tests, test_dist_training_validations_meet);
    tcase_add_test(tests, test_dist_training_team_comes_first);
    tcase_add_test(tests, test_dist_training_arguments);
    tcase_add_test(tests, test_dist_training_without_mpi);
    suite_add_tcase(suite, tests);
    return suite;
}
