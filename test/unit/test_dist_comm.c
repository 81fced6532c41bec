/* test_dist_comm.c -- what ranks that are threads do together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"
#include "support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_RANKS 8
#define N_ROUNDS  20

static const int32_t rank_counts[] = {1, 2, 4, 8};

/* One rank: what it runs and what came of it. */
struct runner {
    struct etx_comm *comm;
    etx_status (*body)(struct etx_comm *comm);
    etx_status status;
    char message[256];
};

static void *run(void *argument)
{
    struct runner *runner = argument;

    runner->status = runner->body(runner->comm);
    if (runner->status != ETX_OK)
        strncpy(runner->message, etx_last_error(), sizeof runner->message - 1);
    return NULL;
}

/* Run body on every rank but the last n_absent, and close them all. */
static void run_ranks(struct runner runner[MAX_RANKS], int32_t n_ranks,
    int32_t n_absent, double deadline, etx_status (*body)(struct etx_comm *))
{
    struct etx_comm *comm[MAX_RANKS] = {NULL};
    pthread_t thread[MAX_RANKS];

    ck_assert_ok(etx_comm_open_threads(comm, n_ranks, deadline));
    for (int32_t r = 0; r < n_ranks; r++)
        runner[r] = (struct runner){.comm = comm[r], .body = body};
    for (int32_t r = 0; r < n_ranks - n_absent; r++)
        ck_assert_int_eq(pthread_create(&thread[r], NULL, run, runner + r), 0);
    for (int32_t r = 0; r < n_ranks - n_absent; r++)
        ck_assert_int_eq(pthread_join(thread[r], NULL), 0);
    for (int32_t r = 0; r < n_ranks; r++)
        etx_comm_close(comm[r]);
}

static void check_all_ok(const struct runner *runner, int32_t n_ranks)
{
    for (int32_t r = 0; r < n_ranks; r++)
        ck_assert_msg(runner[r].status == ETX_OK, "rank %d: %s", (int)r,
            runner[r].message);
}

/* ---------------------------------------------------------- operations -- */

static etx_status sum_values(struct etx_comm *comm)
{
    float small[11];
    double large[11];
    int64_t whole[11];

    for (int round = 0; round < N_ROUNDS; round++) {
        const int n = round % 12; /* less than one value per rank, too */

        for (int i = 0; i < n; i++) {
            small[i] = (float)(comm->rank + i);
            large[i] = i % comm->n_ranks == comm->rank ? 0.1 * i : 0.0;
            whole[i] = ((int64_t)1 << 60) + comm->rank;
        }
        if (etx_comm_sum(comm, small, n, ETX_COMM_F32) != ETX_OK ||
            etx_comm_sum(comm, large, n, ETX_COMM_F64) != ETX_OK ||
            etx_comm_sum(comm, whole, n, ETX_COMM_I64) != ETX_OK)
            return ETX_ERR_IO;
        for (int i = 0; i < n; i++) {
            const int32_t ranks = comm->n_ranks;

            if (small[i] != (float)(ranks * i + ranks * (ranks - 1) / 2) ||
                large[i] != 0.1 * i ||
                (uint64_t)whole[i] != ((uint64_t)ranks << 60) +
                                          (uint64_t)(ranks * (ranks - 1) / 2))
                return ETX_ERR_FORMAT;
        }
    }
    return ETX_OK;
}

/* Rank r sends r elements of three bytes, all of them r. */
static etx_status gather_values(struct etx_comm *comm)
{
    char mine[3 * MAX_RANKS];
    char all[3 * MAX_RANKS * MAX_RANKS];
    int64_t count[MAX_RANKS];
    size_t at = 0;

    for (int32_t r = 0; r < comm->n_ranks; r++)
        count[r] = r;
    memset(mine, comm->rank, sizeof mine);
    if (etx_comm_gather(comm, all, mine, count, 3) != ETX_OK)
        return ETX_ERR_IO;
    for (int32_t r = 0; r < comm->n_ranks; r++)
        for (int32_t k = 0; k < 3 * r; k++)
            if (all[at++] != (char)r)
                return ETX_ERR_FORMAT;
    return ETX_OK;
}

/* Rank a sends rank b a + b elements 100 a + b. */
static etx_status exchange_values(struct etx_comm *comm)
{
    int32_t to[2 * MAX_RANKS * MAX_RANKS];
    int32_t from[2 * MAX_RANKS * MAX_RANKS];
    int64_t count[MAX_RANKS];
    int64_t n = 0;

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        count[r] = comm->rank + r;
        for (int64_t k = 0; k < count[r]; k++)
            to[n++] = 100 * comm->rank + r;
    }
    if (etx_comm_all_to_all(comm, from, count, to, count, sizeof *to) != ETX_OK)
        return ETX_ERR_IO;
    n = 0;
    for (int32_t r = 0; r < comm->n_ranks; r++)
        for (int64_t k = 0; k < count[r]; k++)
            if (from[n++] != 100 * r + comm->rank)
                return ETX_ERR_FORMAT;
    return ETX_OK;
}

static etx_status broadcast_values(struct etx_comm *comm)
{
    for (int32_t root = 0; root < comm->n_ranks; root++) {
        int64_t data[3] = {comm->rank, comm->rank, comm->rank};

        if (etx_comm_broadcast(comm, data, 3, sizeof *data, root) != ETX_OK)
            return ETX_ERR_IO;
        if (data[0] != root || data[1] != root || data[2] != root)
            return ETX_ERR_FORMAT;
    }
    return ETX_OK;
}

static etx_status (*const bodies[])(struct etx_comm *) = {
    sum_values, gather_values, exchange_values, broadcast_values};

ETX_TEST(test_dist_comm_operations, .rows = ROWS(bodies))
{
    struct runner runner[MAX_RANKS];

    for (size_t k = 0; k < ROWS(rank_counts); k++) {
        run_ranks(runner, rank_counts[k], 0, 60.0, bodies[_i]);
        check_all_ok(runner, rank_counts[k]);
    }
}

static etx_status use_statistics(struct etx_comm *comm)
{
    double values[100] = {0.0};

    if (etx_comm_sum(comm, values, 100, ETX_COMM_F64) != ETX_OK ||
        etx_comm_barrier(comm) != ETX_OK)
        return ETX_ERR_IO;
    if (comm->statistics.n_calls != 1 || comm->statistics.n_bytes != 800 ||
        !(comm->statistics.seconds > 0.0) ||
        !(comm->statistics.barrier_seconds > 0.0))
        return ETX_ERR_FORMAT;
    return ETX_OK;
}

ETX_TEST(test_dist_comm_statistics)
{
    struct runner runner[MAX_RANKS];

    run_ranks(runner, 2, 0, 60.0, use_statistics);
    check_all_ok(runner, 2);
}

/* ------------------------------------------------------------- failures -- */

static etx_status meet(struct etx_comm *comm)
{
    return etx_comm_barrier(comm);
}

/* A rank that never arrives: the others are told, and soon. */
ETX_TEST(test_dist_comm_deadline)
{
    struct runner runner[MAX_RANKS];

    for (int32_t n_ranks = 2; n_ranks <= MAX_RANKS; n_ranks *= 2) {
        const double begin = etx_comm_now();

        run_ranks(runner, n_ranks, 1, 0.05, meet);
        ck_assert_double_lt(etx_comm_now() - begin, 20.0);
        for (int32_t r = 0; r < n_ranks - 1; r++) {
            ck_assert_status(runner[r].status, ETX_ERR_IO);
            ck_assert_ptr_nonnull(strstr(runner[r].message, "barrier"));
        }
    }
}

/* Rank 1 takes longer to copy than rank 0, which came last and has a deadline
 * of almost zero, would wait for another to arrive. */
static etx_status broadcast_slowly(struct etx_comm *comm)
{
    const int64_t n = (int64_t)1 << 25;
    const struct timespec nap = {0, 100000000};
    char *data = calloc((size_t)n, 1);
    etx_status status = etx_comm_barrier(comm);

    if (status == ETX_OK && comm->rank == 0) {
        (void)nanosleep(&nap, NULL);
        memset(data, 7, (size_t)n);
        comm->deadline = 1e-5;
    }
    if (status == ETX_OK)
        status = etx_comm_broadcast(comm, data, n, 1, 0);
    if (status == ETX_OK && (data[0] != 7 || data[n - 1] != 7))
        status = ETX_ERR_FORMAT;
    free(data);
    return status;
}

/* Nobody leaves an operation in which all are: the others use its buffers. A
 * machine may keep rank 1 from arriving in time, but not ten times. */
ETX_TEST(test_dist_comm_slow_copy)
{
    struct runner runner[MAX_RANKS];

    for (int try = 0; try < 10; try++) {
        run_ranks(runner, 2, 0, 60.0, broadcast_slowly);
        ck_assert_int_eq(runner[0].status, runner[1].status);
        if (runner[0].status == ETX_OK)
            return;
    }
    ck_abort_msg("%s", runner[0].message);
}

static etx_status fail_in_rank_1(struct etx_comm *comm)
{
    if (comm->rank == 1) {
        etx_comm_abort(comm);
        return ETX_OK;
    }
    return etx_comm_barrier(comm);
}

ETX_TEST(test_dist_comm_give_up)
{
    struct runner runner[MAX_RANKS];

    run_ranks(runner, 4, 0, 60.0, fail_in_rank_1);
    for (int32_t r = 0; r < 4; r++) {
        if (r == 1)
            continue;
        ck_assert_status(runner[r].status, ETX_ERR_RANK);
        ck_assert_msg(strstr(runner[r].message, "rank 1 gave up") != NULL, "%s",
            runner[r].message);
    }
}

static etx_status sum_after_failure(struct etx_comm *comm)
{
    double value = 1.0;

    if (etx_comm_barrier(comm) == ETX_OK)
        return ETX_OK;
    return etx_comm_sum(comm, &value, 1, ETX_COMM_F64);
}

ETX_TEST(test_dist_comm_stays_broken)
{
    struct runner runner[MAX_RANKS];

    run_ranks(runner, 2, 1, 0.05, sum_after_failure);
    ck_assert_status(runner[0].status, ETX_ERR_RANK);
    ck_assert_ptr_nonnull(strstr(runner[0].message, "earlier failure"));
}

ETX_TEST(test_dist_comm_refused)
{
    struct etx_comm *comm[1] = {NULL};

    ck_assert_status(etx_comm_open_threads(comm, 0, 60.0), ETX_ERR_ARGUMENT);
    ck_assert_status(etx_comm_open_threads(comm, 1025, 60.0), ETX_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "1025"));
    ck_assert_ptr_null(comm[0]);
}
