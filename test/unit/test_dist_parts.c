/* test_dist_parts.c -- one graph on all ranks of a group of threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <pthread.h>
#include <stdio.h>

#include "support.h"
#include "train_bench.h"

#define MAX_RANKS 8

/* Common to the ranks; each has a graph of its own. */
struct team {
    int32_t n_ranks;
    etx_dist *dist[MAX_RANKS];
    etx_graph *graph[MAX_RANKS];
    etx_graph *scored;
    etx_model *model;
    etx_event *event;
    int32_t failing_rank; /* -1: none; its context is cancelled */
    int32_t order;
    etx_status status[MAX_RANKS];
    char error[MAX_RANKS][256];
    struct train_bench *bench; /* [n_ranks] or NULL */
};

struct member {
    struct team *team;
    int32_t rank;
    void (*run)(struct team *team, int32_t rank);
};

static void *start(void *argument)
{
    struct member *member = argument;

    member->run(member->team, member->rank);
    return NULL;
}

static void run_team(
    struct team *team, void (*run)(struct team *team, int32_t rank))
{
    pthread_t id[MAX_RANKS];
    struct member member[MAX_RANKS];

    for (int32_t r = 0; r < team->n_ranks; r++) {
        member[r] = (struct member){.team = team, .rank = r, .run = run};
        ck_assert_int_eq(pthread_create(&id[r], NULL, start, &member[r]), 0);
    }
    for (int32_t r = 0; r < team->n_ranks; r++)
        (void)pthread_join(id[r], NULL);
}

static void score(struct team *team, int32_t rank)
{
    scoped_context *context = etx_test_context_with(
        1, 0, rank == team->failing_rank ? etx_test_cancel : NULL, NULL);

    team->status[rank] = etx_dist_graph_score(team->graph[rank],
        team->dist[rank], context, team->model, team->event, team->order);
    if (team->status[rank] != ETX_OK)
        (void)snprintf(team->error[rank], sizeof team->error[rank], "%s",
            etx_last_error());
}

/* The filtered graph of a shipped event for every rank, and once more, scored,
 * to compare with. */
static void open_team(struct team *team, int32_t n_ranks)
{
    scoped_context *context = etx_test_context();
    scoped_graph *all = NULL;

    *team = (struct team){.n_ranks = n_ranks, .failing_rank = -1};
    etx_test_open_example(&team->model, &team->event, "event000000001");
    ck_assert_ok(etx_graph_build(&all, context, team->model, team->event));
    for (int32_t r = 0; r <= n_ranks; r++)
        ck_assert_ok(
            etx_graph_filter(r < n_ranks ? &team->graph[r] : &team->scored, all,
                context, team->model, team->event));
    ck_assert_ok(
        etx_graph_score(team->scored, context, team->model, team->event));
    ck_assert_ok(etx_dist_open_threads(team->dist, n_ranks, NULL));
}

static void close_team(struct team *team)
{
    for (int32_t r = 0; r < team->n_ranks; r++) {
        etx_graph_free(team->graph[r]);
        etx_dist_close(team->dist[r]);
    }
    etx_graph_free(team->scored);
    etx_event_free(team->event);
    etx_model_free(team->model);
}

static void check_scores(const struct team *team)
{
    for (int32_t r = 0; r < team->n_ranks; r++) {
        ck_assert_msg(
            team->status[r] == ETX_OK, "rank %d: %s", (int)r, team->error[r]);
        ck_assert_mem_eq(etx_graph_scores(team->graph[r]),
            etx_graph_scores(team->scored),
            (size_t)etx_graph_n_edges(team->scored) * sizeof(float));
    }
}

/* A rank that fails ends the call of all, long before the deadline, and the
 * group can be used again. */
ETX_TEST(test_dist_parts_failure)
{
    struct team team;

    open_team(&team, 4);
    team.failing_rank = 2;
    run_team(&team, score);
    for (int32_t r = 0; r < 4; r++) {
        ck_assert_status(team.status[r], ETX_ERR_CANCELLED);
        ck_assert_int_eq(strstr(team.error[r], "1 of 4 ranks") == NULL,
            r == team.failing_rank);
    }
    team.failing_rank = -1;
    run_team(&team, score);
    check_scores(&team);
    close_team(&team);
}

/* A network that refuses does so on all ranks, and nobody waits. */
ETX_TEST(test_dist_parts_refused)
{
    struct team team;
    etx_part_exchange exchange;

    open_team(&team, 2);
    team.order = 7;
    run_team(&team, score);
    for (int32_t r = 0; r < 2; r++) {
        ck_assert_status(team.status[r], ETX_ERR_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(team.error[r], "order 7"));
    }
    ck_assert_refused(etx_dist_exchange(NULL, team.dist[0]), "out");
    ck_assert_refused(etx_dist_exchange(&exchange, NULL), "dist");
    close_team(&team);
}

/* ------------------------------------------------------------ training -- */

static void train(struct team *team, int32_t rank)
{
    etx_trainer *trainer = team->bench[rank].trainer;

    ck_assert_ok(etx_dist_trainer_set_parts(
        trainer, team->dist[rank], ETX_PARTITION_KD));
    train_bench_steps(trainer, 5);
}

static double find_distance(const float *a, const float *b, int64_t n)
{
    double largest = 0.0;
    double difference = 0.0;

    for (int64_t v = 0; v < n; v++) {
        const double delta = (double)a[v] - (double)b[v];

        difference = delta > difference ? delta : difference;
        difference = -delta > difference ? -delta : difference;
        largest = (double)b[v] > largest ? (double)b[v] : largest;
    }
    return difference / largest;
}

/* Five steps on two and four ranks: all hold the same bits, near the result
 * of a trainer alone. */
ETX_TEST(test_dist_parts_training, .rows = 2)
{
    struct team team = {.n_ranks = 2 << _i};
    struct train_bench bench[MAX_RANKS + 1];
    const struct etx_network *alone;

    team.bench = bench;
    for (int32_t r = 0; r <= team.n_ranks; r++)
        bench[r] = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    ck_assert_ok(etx_dist_open_threads(team.dist, team.n_ranks, NULL));
    run_team(&team, train);
    train_bench_steps(bench[team.n_ranks].trainer, 5);
    alone = bench[team.n_ranks].trainer->stage->network;
    for (int32_t r = 0; r < team.n_ranks; r++) {
        const float *value = bench[r].trainer->stage->network->value;

        ck_assert_mem_eq(value, bench[0].trainer->stage->network->value,
            (size_t)alone->n_values * sizeof(float));
        ck_assert(find_distance(value, alone->value, alone->n_values) < 1e-3);
    }
    for (int32_t r = 0; r <= team.n_ranks; r++)
        train_bench_close(&bench[r]);
    for (int32_t r = 0; r < team.n_ranks; r++)
        etx_dist_close(team.dist[r]);
}

/* An exchange that can fail after the last of its swaps that carry data. */
struct failing {
    etx_part_exchange real;
    int64_t n_swaps;    /* that carried data */
    int64_t fail_after; /* number of them; 0: never */
};

static etx_status swap_and_fail(void *user, float *received,
    const int64_t *n_received, const float *sent, const int64_t *n_sent)
{
    struct failing *failing = user;
    const etx_status status = failing->real.swap(
        failing->real.user, received, n_received, sent, n_sent);

    failing->n_swaps += n_received[0] + n_received[1] > 0;
    if (status == ETX_OK && failing->fail_after > 0 &&
        failing->n_swaps == failing->fail_after)
        return ETX_ERR_MEMORY;
    return status;
}

static void leave(void *user, etx_status status)
{
    struct failing *failing = user;

    failing->real.leave(failing->real.user, status);
}

/* call took n swaps when it went well: now rank 1 fails after the last of them,
 * and nobody has changed. */
static void check_failing(etx_trainer *trainer, struct failing *failing,
    int32_t rank, int64_t n,
    etx_status (*call)(etx_trainer *trainer, etx_training_report *report))
{
    const uint64_t before = etx_trainer_hash(trainer);
    etx_training_report report = {.struct_size = sizeof report};

    failing->n_swaps = 0;
    failing->fail_after = rank == 1 ? n : 0;
    ck_assert_int_eq(
        call(trainer, &report), rank == 1 ? ETX_ERR_MEMORY : ETX_ERR_CANCELLED);
    ck_assert_int_eq(failing->n_swaps, n);
    failing->fail_after = 0;
    ck_assert_uint_eq(etx_trainer_hash(trainer), before);
}

/* A step, a validation, both with a failure, four steps. */
static void train_and_fail(struct team *team, int32_t rank)
{
    etx_trainer *trainer = team->bench[rank].trainer;
    struct failing failing = {.n_swaps = 0};
    const etx_part_exchange exchange = {.struct_size = sizeof exchange,
        .swap = swap_and_fail,
        .leave = leave,
        .user = &failing};

    ck_assert_ok(etx_dist_exchange(&failing.real, team->dist[rank]));
    ck_assert_ok(
        etx_trainer_set_parts(trainer, 2, rank, ETX_PARTITION_KD, &exchange));
    (void)train_bench_validate(trainer);
    const int64_t n_validation = failing.n_swaps;
    train_bench_steps(trainer, 1);
    const int64_t n_step = failing.n_swaps - n_validation;
    check_failing(trainer, &failing, rank, n_step, etx_trainer_step);
    check_failing(trainer, &failing, rank, n_validation, etx_trainer_validate);
    train_bench_steps(trainer, 4);
}

/* A rank that fails at the very end makes all of them roll back, and the
 * training goes on as if nothing had happened. */
ETX_TEST(test_dist_parts_training_failure)
{
    struct team team = {.n_ranks = 2};
    struct train_bench bench[4];

    for (int32_t r = 0; r < 4; r++)
        bench[r] = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    ck_assert_ok(etx_dist_open_threads(team.dist, 2, NULL));
    team.bench = bench;
    run_team(&team, train);
    team.bench = bench + 2;
    run_team(&team, train_and_fail);
    for (int32_t r = 1; r < 4; r++)
        ck_assert_mem_eq(bench[r].trainer->stage->network->value,
            bench[0].trainer->stage->network->value,
            (size_t)bench[0].trainer->stage->network->n_values * sizeof(float));
    for (int32_t r = 0; r < 4; r++)
        train_bench_close(&bench[r]);
    etx_dist_close(team.dist[0]);
    etx_dist_close(team.dist[1]);
}
