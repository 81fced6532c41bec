/* test_dist_training.c -- training on ranks that are threads.
 *
 * Every rank has a context and a trainer of its own; what they come to must be
 * what one trainer alone comes to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include "base/heap.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
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
    "{'sampling': {'graphs': 5, 'order': 'drawn'}}";

/* A plan on a new bench, which is the caller's. */
static struct plan make_plan(
    struct train_bench *bench, int stage, int32_t n_ranks, const char *change)
{
    struct plan plan = {
        .stage = stage, .n_ranks = n_ranks, .change = change, .bench = bench};

    *bench = train_bench_new(stage, 1, change);

    ck_assert_ok(etx_dist_options_init(&plan.options, sizeof plan.options));
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
            memcpy(rank->gradient, trainer->state.gradient, bytes);
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
    char *config = NULL;
    etx_trainer *sharded = NULL;
    etx_team team;

    ck_assert_ok(
        etx_json_write(&config, trainer->config.json, ETX_JSON_DIGITS, 0));
    ck_assert_ok(etx_trainer_create(
        &sharded, rank->bench.context, config, rank->bench.start));
    etx_free(config);
    ck_assert_ok(etx_dist_team(&team, rank->dist));
    ck_assert_ok(etx_trainer_set_team(sharded, &team));
    for (int32_t k = 0; k < TRAIN_BENCH_EVENTS; k++) {
        const int32_t holder = k % team.n_ranks;

        ck_assert_ok(etx_trainer_add_event_of_rank(sharded,
            holder == team.rank ? rank->bench.event[k] : NULL,
            etx_event_n_hits(rank->bench.event[k]), holder,
            k == TRAIN_BENCH_EVENTS - 1));
    }
    etx_trainer_free(trainer);
    rank->bench.trainer = sharded;
}

static void open_rank(
    struct rank *rank, const struct plan *plan, etx_dist *dist)
{
    etx_team team;

    *rank = (struct rank){.plan = plan, .dist = dist};
    train_bench_join(&rank->bench, plan->bench, plan->stage, plan->change);
    if (dist != NULL && plan->is_sharded) {
        shard(rank);
    } else if (dist != NULL) {
        ck_assert_ok(etx_dist_team(&team, dist));
        ck_assert_ok(etx_trainer_set_team(rank->bench.trainer, &team));
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

    ck_assert_ok(etx_dist_open_threads(dist, plan->n_ranks, &plan->options));
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
        ck_assert_msg(
            rank[r].status == ETX_OK, "rank %d: %s", (int)r, rank[r].message);
}

/* The same without a team. */
static void run_alone(struct rank *rank, const struct plan *plan)
{
    open_rank(rank, plan, NULL);
    ck_assert_msg(note(rank, run_steps(rank)) == ETX_OK, "%s", rank->message);
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

/* A trainer alone and n_ranks of 2, 4, .. max_ranks come to the same. */
static void check_ranks(struct plan *plan, int32_t max_ranks)
{
    struct rank alone;

    run_alone(&alone, plan);
    for (plan->n_ranks = 2; plan->n_ranks <= max_ranks; plan->n_ranks *= 2) {
        plan->options.assignment =
            plan->n_ranks == 4 ? ETX_ASSIGN_IN_TURN : ETX_ASSIGN_BALANCED;
        check_same(&alone, plan);
    }
    close_rank(&alone);
}

/* Of a step's five graphs two ranks have 3 and 2, eight have none or one. */
ETX_TEST(test_dist_training_same_bits_on_any_ranks, .rows = N_STAGES)
{
    scoped_bench bench = {NULL};
    struct plan plan = make_plan(&bench, _i, 1, several);

    check_ranks(&plan, MAX_RANKS);
}

/* One graph per step: all ranks but one have none, and one process had these
 * bits before there were ranks. */
ETX_TEST(test_dist_training_empty_ranks, .rows = N_STAGES)
{
    scoped_bench bench = {NULL};
    struct plan plan = make_plan(&bench, _i, 1, NULL);

    check_ranks(&plan, 2);
}

ETX_TEST(test_dist_training_sharded_events, .rows = N_STAGES)
{
    scoped_bench bench = {NULL};
    struct plan plan = make_plan(&bench, _i, 1, several);

    plan.is_sharded = 1;
    check_ranks(&plan, 4);
}

/* Every way to make one loss of the losses of several graphs. */
static const char *const losses[] = {
    "{'sampling': {'graphs': 3}, 'loss': {'average': 'graphs'}}",
    "{'sampling': {'graphs': 3}, 'loss': {'reduction': 'equal'}}",
    "{'sampling': {'graphs': 3}, 'loss': {'reduction': 'balanced'}}",
    ("{'sampling': {'graphs': 3, 'order': 'buckets'}, 'loss': {'reduction': "
     "'mean'}}")};

ETX_TEST(test_dist_training_reductions, .rows = ROWS(losses))
{
    scoped_bench bench = {NULL};
    struct plan plan = make_plan(&bench, ETX_TRAIN_FILTER, 1, losses[_i]);

    check_ranks(&plan, 2);
}

/* Stopping early, keeping the best and rolling back after a spike. */
static const char *const decisions[] = {
    "{'sampling': {'graphs': 3}, 'schedule': {'learning_rate': 0, "
    "'min_learning_rate': 0}, 'validation': {'patience': 2}}",
    "{'sampling': {'graphs': 3}, 'validation': {'keep_best': true}}",
    "{'sampling': {'graphs': 2, 'hits': 60}, 'schedule': {'learning_rate': "
    "0.001}, 'stability': {'spike_factor': 1.0001, 'spike_window': 3, "
    "'snapshot_every': 4, 'most_rollbacks': 9}}"};

ETX_TEST(test_dist_training_decisions, .rows = ROWS(decisions))
{
    scoped_bench bench = {NULL};
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
}

/* The sum in the transport's order is another rounding and nothing else. */
ETX_TEST(test_dist_training_fast)
{
    scoped_bench bench = {NULL};
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
}

/* ----------------------------------------------------------- assignment -- */

/* Five graphs of about the same size on two ranks: 3 against 2, a mean of
 * 2.5. */
ETX_TEST(test_dist_training_imbalance)
{
    scoped_bench bench = {NULL};
    struct plan plan =
        make_plan(&bench, ETX_TRAIN_FILTER, 2, "{'sampling': {'graphs': 5}}");
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
}

/* ------------------------------------------------------------- failures -- */

ETX_TEST(test_dist_training_rank_that_hangs)
{
    scoped_bench bench = {NULL};
    struct plan plan = make_plan(&bench, ETX_TRAIN_EMBEDDING, 2, several);
    struct rank rank[2];

    plan.hangs = 1;
    plan.options.deadline = 0.1;
    try_plan(rank, &plan);
    ck_assert_status(rank[0].status, ETX_ERR_IO);
    ck_assert_msg(strstr(rank[0].message, "within 100 ms") != NULL, "%s",
        rank[0].message);
    for (int32_t r = 0; r < 2; r++)
        close_rank(rank + r);
}

static void *disagree(void *argument)
{
    struct rank *rank = argument;

    (void)note(rank, etx_dist_agree(rank->dist,
                         (uint64_t)etx_dist_rank(rank->dist) / 2, "halves"));
    return NULL;
}

ETX_TEST(test_dist_training_ranks_that_differ)
{
    const struct plan plan = {.n_ranks = 4};
    struct rank rank[4];
    etx_dist *dist[4];

    ck_assert_ok(etx_dist_open_threads(dist, 4, NULL));
    for (int32_t r = 0; r < 4; r++) {
        rank[r] = (struct rank){.plan = &plan, .dist = dist[r]};
        ck_assert_int_eq(
            pthread_create(&rank[r].thread, NULL, disagree, rank + r), 0);
    }
    for (int32_t r = 0; r < 4; r++) {
        ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
        ck_assert_status(rank[r].status, ETX_ERR_FORMAT);
        ck_assert_msg(strstr(rank[r].message, "rank 2 has") != NULL, "%s",
            rank[r].message);
        etx_dist_close(dist[r]);
    }
}
