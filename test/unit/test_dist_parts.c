/* test_dist_parts.c -- one graph on all ranks of a group of threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <time.h>

#include "job.h"
#include "rank_threads.h"
#include "train_bench.h"

#define N_RANKS      4
#define FAILING_RANK 2

/* A rank that fails ends the call of all, long before the deadline; what is
 * refused is refused by all, and nobody waits; then the group still works. */
static void fail_and_score(struct rank_thread *thread, void *argument)
{
    const struct job *whole = argument;
    scoped_job job = job_make_graph();
    scoped_context *small = etx_test_context_with(1, 1000, NULL, NULL);
    const int is_failing = thread->rank == FAILING_RANK;

    ck_assert_status(etx_dist_graph_score(job.graph, thread->dist,
                         is_failing ? small : job.context, job.model, job.event,
                         ETX_PARTITION_PHI),
        is_failing ? ETX_ERR_MEMORY : ETX_ERR_RANK);
    ck_assert_int_eq(
        strstr(etx_last_error(), "1 of 4 ranks") == NULL, is_failing);
    ck_assert_refused(etx_dist_graph_score(job.graph, thread->dist, job.context,
                          job.model, job.event, 7),
        "order 7");
    ck_assert_ok(etx_dist_graph_score(job.graph, thread->dist, job.context,
        job.model, job.event, ETX_PARTITION_PHI));
    ck_assert_mem_eq(etx_graph_scores(job.graph),
        etx_graph_scores(whole->graph), (size_t)job.n_edges * sizeof(float));
}

ETX_TEST(test_dist_parts_failure)
{
    scoped_job whole = job_make_graph();

    ck_assert_ok(
        etx_graph_score(whole.graph, whole.context, whole.model, whole.event));
    rank_threads_run(N_RANKS, NULL, fail_and_score, &whole);
}

/* A rank that its caller cancels waits for others that come later, to tell
 * them, whatever the caller says meanwhile; then the group still works. */
static void cancel_and_score(struct rank_thread *thread, void *argument)
{
    const struct timespec late = {.tv_nsec = 100000000};
    scoped_job job = job_make_graph();

    (void)argument;
    if (thread->rank == FAILING_RANK)
        etx_set_cancel(etx_test_cancel, NULL);
    else
        ck_assert_int_eq(nanosleep(&late, NULL), 0);
    ck_assert_status(etx_dist_graph_score(job.graph, thread->dist, job.context,
                         job.model, job.event, ETX_PARTITION_KD),
        thread->rank == FAILING_RANK ? ETX_ERR_CANCELLED : ETX_ERR_RANK);
    etx_set_cancel(NULL, NULL);
    ck_assert_ok(etx_dist_graph_score(job.graph, thread->dist, job.context,
        job.model, job.event, ETX_PARTITION_KD));
}

ETX_TEST(test_dist_parts_cancelled)
{
    rank_threads_run(N_RANKS, NULL, cancel_and_score, NULL);
}

/* ---------------------------------------------------------------- sums -- */

enum { N_VALUES = 3 };

/* What this one sends comes back, and of another one 10, 20 and 30. */
static etx_status swap_values(void *user, float *received,
    const int64_t *n_received, const float *sent, const int64_t *n_sent)
{
    static const double other[N_VALUES] = {10, 20, 30};

    (void)user;
    ck_assert_int_eq(n_sent[0], 2 * N_VALUES);
    ck_assert_int_eq(n_received[1], 2 * N_VALUES);
    memcpy(received, sent, sizeof other);
    memcpy(received + n_received[0], other, sizeof other);
    return ETX_OK;
}

/* Memory of the arena that held NaN does not matter. */
ETX_TEST(test_dist_parts_sum_of_doubles)
{
    struct etx_train_partition partition = {
        .n_parts = 2, .exchange = {.swap = swap_values}};
    double values[N_VALUES] = {1, 2, 3};
    void *dirty;

    ck_assert_ok(etx_arena_create(&partition.arena, 0));
    const struct etx_arena_mark mark = etx_arena_mark(partition.arena);
    ck_assert_ok(etx_arena_alloc(&dirty, partition.arena, 4096, 1, "bytes"));
    memset(dirty, 0xff, 4096);
    etx_arena_reset(partition.arena, mark);
    ck_assert_ok(etx_partition_sum_doubles(&partition, values, N_VALUES));
    for (int k = 0; k < N_VALUES; k++)
        ck_assert_double_eq(values[k], 11.0 * (k + 1));
    etx_arena_free(partition.arena);
}

/* ------------------------------------------------------------ training -- */

/* One trainer for each rank; what came of its first step, and of a validation
 * at the end. */
struct training {
    struct train_bench bench[RANK_THREADS_MAX];
    int32_t n_ranks, stage, order;
    double loss[RANK_THREADS_MAX], norm[RANK_THREADS_MAX];
    double validation[RANK_THREADS_MAX];
};

static void open_training(struct training *training)
{
    for (int32_t r = 0; r < training->n_ranks; r++)
        training->bench[r] = train_bench_new(training->stage, 1, NULL);
}

static void close_training(struct training *training)
{
    for (int32_t r = 0; r < training->n_ranks; r++)
        train_bench_close(&training->bench[r]);
}
#define scoped_training SCOPED(close_training) struct training

static void train(struct training *training, int32_t rank)
{
    etx_trainer *trainer = training->bench[rank].trainer;
    etx_training_report report = {.struct_size = sizeof report};

    ck_assert_ok(etx_trainer_step(&report, trainer));
    training->loss[rank] = report.loss;
    training->norm[rank] = report.gradient_norm;
    train_bench_steps(trainer, 4);
    training->validation[rank] = train_bench_validate(trainer).loss;
}

static void train_part(struct rank_thread *thread, void *argument)
{
    struct training *training = argument;

    ck_assert_ok(etx_dist_trainer_set_parts(
        training->bench[thread->rank].trainer, thread->dist, training->order));
    train(training, thread->rank);
}

static const struct etx_network *network_of(
    const struct training *training, int32_t rank)
{
    return training->bench[rank].trainer->stage->network;
}

static void assert_near(double a, double b, double tolerance)
{
    ck_assert_msg(
        fabs(a - b) <= tolerance * fabs(b), "%.9g and not %.9g", a, b);
}

/* To 1e-3 of the largest. */
static void assert_values_near(
    const struct etx_network *a, const struct etx_network *b)
{
    float largest = 0.0f;

    for (int64_t v = 0; v < b->n_values; v++)
        largest = fmaxf(largest, fabsf(b->value[v]));
    for (int64_t v = 0; v < b->n_values; v++)
        ck_assert_float_eq_tol(a->value[v], b->value[v], 1e-3f * largest);
}

static const struct {
    int32_t n_ranks, stage, order;
} training_rows[] = {{1, ETX_TRAIN_GNN, ETX_PARTITION_PHI},
    {2, ETX_TRAIN_GNN, ETX_PARTITION_KD}, {4, ETX_TRAIN_GNN, ETX_PARTITION_PHI},
    {2, ETX_TRAIN_FILTER, ETX_PARTITION_PHI}};

/* All ranks end with the same bits, and near a trainer alone. */
ETX_TEST(test_dist_parts_training, .rows = ROWS(training_rows))
{
    scoped_training all = {.n_ranks = training_rows[_i].n_ranks,
        .stage = training_rows[_i].stage,
        .order = training_rows[_i].order};
    scoped_training alone = {.n_ranks = 1, .stage = all.stage};

    open_training(&all);
    open_training(&alone);
    rank_threads_run(all.n_ranks, NULL, train_part, &all);
    train(&alone, 0);
    for (int32_t r = 0; r < all.n_ranks; r++) {
        assert_near(all.loss[r], alone.loss[0], 1e-6);
        assert_near(all.norm[r], alone.norm[0], 1e-5);
        assert_near(all.validation[r], alone.validation[0], 1e-4);
        assert_values_near(network_of(&all, r), network_of(&alone, 0));
        ck_assert_same_state(all.bench[r].trainer, all.bench[0].trainer);
        ck_assert_mem_eq(
            &all.validation[r], &all.validation[0], sizeof(double));
    }
}

/* Before rows are exchanged. */
ETX_TEST(test_dist_parts_training_refused)
{
    const etx_part_exchange exchange = etx_test_no_exchange();
    struct train_bench bench;
    etx_training_report report = {.struct_size = sizeof report};

    bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, NULL);
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, &exchange),
        ETX_ERR_ARGUMENT, "embedding");
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 1, 0, 0, &exchange),
        ETX_ERR_ARGUMENT, "embedding");
    ck_assert_ok(etx_trainer_set_parts(bench.trainer, 1, 0, 0, NULL));
    train_bench_close(&bench);
    bench = train_bench_new(
        ETX_TRAIN_FILTER, 1, "{'sampling': {'chunk_edges': 1}}");
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, &exchange),
        ETX_ERR_ARGUMENT, "chunk_edges is 1");
    train_bench_close(&bench);
    bench = train_bench_new(
        ETX_TRAIN_GNN, 1, "{'model': {'options': {'norm': 'batch'}}}");
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, &exchange),
        ETX_ERR_UNSUPPORTED, "batch norm");
    ck_assert_fails(etx_trainer_set_parts(bench.trainer, 2, 0, 0, NULL),
        ETX_ERR_ARGUMENT, "exchange is NULL");
    ck_assert_ok(etx_trainer_set_parts(bench.trainer, 1, 0, 0, NULL));
    ck_assert_ok(etx_trainer_step(&report, bench.trainer));
    train_bench_close(&bench);
}

/* Ranks whose owners differ find it out before they exchange rows. */
static void train_unlike(struct rank_thread *thread, void *argument)
{
    struct training *training = argument;
    etx_trainer *trainer = training->bench[thread->rank].trainer;
    etx_training_report report = {.struct_size = sizeof report};

    ck_assert_ok(etx_dist_trainer_set_parts(trainer, thread->dist,
        thread->rank == 0 ? ETX_PARTITION_PHI : ETX_PARTITION_KD));
    ck_assert_fails(etx_trainer_step(&report, trainer), ETX_ERR_FORMAT,
        "part 1 differs from part 0 in edges or owners");
}

ETX_TEST(test_dist_parts_training_unlike)
{
    scoped_training training = {.n_ranks = 2, .stage = ETX_TRAIN_GNN};

    open_training(&training);
    rank_threads_run(2, NULL, train_unlike, &training);
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
    etx_status (*call)(etx_training_report *report, etx_trainer *trainer))
{
    const uint64_t before = etx_trainer_hash(trainer);
    etx_training_report report = {.struct_size = sizeof report};

    failing->n_swaps = 0;
    failing->fail_after = rank == 1 ? n : 0;
    ck_assert_int_eq(
        call(&report, trainer), rank == 1 ? ETX_ERR_MEMORY : ETX_ERR_RANK);
    ck_assert_int_eq(failing->n_swaps, n);
    failing->fail_after = 0;
    ck_assert_uint_eq(etx_trainer_hash(trainer), before);
}

/* A step, a validation, both with a failure, four steps. */
static void train_and_fail(struct rank_thread *thread, void *argument)
{
    struct training *training = argument;
    etx_trainer *trainer = training->bench[thread->rank].trainer;
    struct failing failing = {.real = thread->exchange};
    const etx_part_exchange exchange = {.struct_size = sizeof exchange,
        .swap = swap_and_fail,
        .leave = leave,
        .user = &failing};

    ck_assert_ok(etx_trainer_set_parts(
        trainer, 2, thread->rank, ETX_PARTITION_KD, &exchange));
    (void)train_bench_validate(trainer);
    const int64_t n_validation = failing.n_swaps;
    train_bench_steps(trainer, 1);
    const int64_t n_step = failing.n_swaps - n_validation;
    check_failing(trainer, &failing, thread->rank, n_step, etx_trainer_step);
    check_failing(
        trainer, &failing, thread->rank, n_validation, etx_trainer_validate);
    train_bench_steps(trainer, 4);
}

/* A rank that fails at the very end makes all of them roll back, and the
 * training goes on as if nothing had happened. */
ETX_TEST(test_dist_parts_training_failure)
{
    scoped_training smooth = {
        .n_ranks = 2, .stage = ETX_TRAIN_GNN, .order = ETX_PARTITION_KD};
    scoped_training failing = smooth;

    open_training(&smooth);
    open_training(&failing);
    rank_threads_run(2, NULL, train_part, &smooth);
    rank_threads_run(2, NULL, train_and_fail, &failing);
    for (int32_t r = 0; r < 2; r++)
        ck_assert_same_state(failing.bench[r].trainer, smooth.bench[r].trainer);
}
