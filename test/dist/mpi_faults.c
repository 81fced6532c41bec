/* test/dist/mpi_faults.c -- what goes wrong between processes of mpirun, one
 * case a run: a rank that is late, one that closes while another is in an
 * operation, an MPI that was started for one thread; and data of many pieces.
 *
 * Ends with 1 and one line when something is not as it should be.
 *   mpirun -n 2 build/test/mpi-faults late|close|level|large
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEADLINE 0.3 /* seconds */
#define N_VALUES 1000
#define N_LARGE  2000003 /* elements: several pieces of two ranks */

static int rank;

static void expect(int is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, etx_last_error());
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void *take(int64_t n, size_t size)
{
    void *memory = calloc((size_t)n, size);

    expect(memory != NULL, "no memory");
    return memory;
}

static void nap(double seconds)
{
    const struct timespec time = {
        (time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};

    (void)nanosleep(&time, NULL);
}

static struct etx_comm *open_ranks(double deadline)
{
    struct etx_comm *comm = NULL;

    expect(etx_comm_open_mpi(&comm, deadline) == ETX_OK, "open");
    expect(comm->n_ranks == 2, "not two ranks");
    return comm;
}

/* Rank 0's sum fails before rank 1 comes; rank 1's data, which the host's own
 * calls of MPI receive, must not land in what is rank 0's again. */
static void be_late(void)
{
    struct etx_comm *comm = open_ranks(DEADLINE);
    double *values = take(N_VALUES, sizeof *values);

    if (rank == 1)
        nap(4.0 * DEADLINE);
    const etx_status status =
        etx_comm_sum(comm, values, N_VALUES, ETX_COMM_F64);
    expect(rank == 1 || status == ETX_ERR_IO, "nobody missed rank 1");
    for (int i = 0; i < N_VALUES; i++)
        values[i] = -1.0;
    for (int k = 0; k < 10; k++) {
        (void)MPI_Barrier(MPI_COMM_WORLD);
        nap(0.01);
    }
    for (int i = 0; i < N_VALUES; i++)
        expect(values[i] == -1.0, "a late sum wrote to the caller's values");
    free(values);
    etx_comm_close(comm);
}

/* Rank 0 leaves while rank 1 is at a barrier, which it must not pass. */
static void close_early(void)
{
    struct etx_comm *comm = open_ranks(DEADLINE);

    if (rank == 1)
        expect(etx_comm_barrier(comm) == ETX_ERR_IO,
            "a close was taken for a barrier");
    etx_comm_close(comm);
}

static void start_for_one_thread(void)
{
    struct etx_comm *comm = NULL;

    expect(etx_comm_open_mpi(&comm, DEADLINE) == ETX_ERR_UNSUPPORTED,
        "MPI for one thread was accepted");
    expect(strstr(etx_last_error(), "MPI_THREAD_SERIALIZED") != NULL,
        "no word of the thread level");
}

/* ----------------------------------------------------------- many pieces -- */

/* Element i of what rank `from` gives to rank `to`. */
static int64_t make_value(int64_t i, int from, int to)
{
    return 10 * i + 2 * from + to;
}

static void fill(int64_t *values, int64_t n, int from, int to)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = make_value(i, from, to);
}

static void check(
    const int64_t *values, int64_t n, int from, int to, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        expect(values[i] == make_value(i, from, to), what);
}

static void sum_many(struct etx_comm *comm, int64_t *values)
{
    fill(values, N_LARGE, rank, 0);
    expect(etx_comm_sum(comm, values, N_LARGE, ETX_COMM_I64) == ETX_OK, "sum");
    for (int64_t i = 0; i < N_LARGE; i++)
        expect(values[i] == 20 * i + 2, "sum of many");
}

static void broadcast_many(struct etx_comm *comm, int64_t *values)
{
    fill(values, N_LARGE, rank, 0);
    expect(
        etx_comm_broadcast(comm, values, N_LARGE, sizeof *values, 1) == ETX_OK,
        "broadcast");
    check(values, N_LARGE, 1, 0, "broadcast of many");
}

/* Rank 1 sends much, rank 0 a little. */
static void gather_many(struct etx_comm *comm, int64_t *all, int64_t *mine)
{
    const int64_t count[2] = {5, N_LARGE - 5};

    fill(mine, count[rank], rank, 0);
    expect(etx_comm_gather(comm, all, mine, count, sizeof *all) == ETX_OK,
        "gather");
    check(all, 5, 0, 0, "gather of a few");
    check(all + 5, N_LARGE - 5, 1, 0, "gather of many");
}

/* Rank 0 gives rank 1 much, and gets little; rank 1 keeps nothing. */
static void exchange_many(struct etx_comm *comm, int64_t *from, int64_t *to)
{
    const int64_t n[2][2] = {{1, N_LARGE - 1}, {7, 0}};
    const int64_t n_from[2] = {n[0][rank], n[1][rank]};

    fill(to, n[rank][0], rank, 0);
    fill(to + n[rank][0], n[rank][1], rank, 1);
    expect(etx_comm_all_to_all(comm, from, n_from, to, n[rank], sizeof *to) ==
               ETX_OK,
        "all-to-all");
    check(from, n_from[0], 0, rank, "all-to-all with rank 0");
    check(from + n_from[0], n_from[1], 1, rank, "all-to-all with rank 1");
}

static void move_many(void)
{
    struct etx_comm *comm = open_ranks(60.0);
    int64_t *one = take(N_LARGE, sizeof *one);
    int64_t *other = take(N_LARGE, sizeof *other);

    sum_many(comm, one);
    broadcast_many(comm, one);
    gather_many(comm, one, other);
    exchange_many(comm, one, other);
    free(one);
    free(other);
    etx_comm_close(comm);
}

/* A case, and the thread level that MPI is started with. */
static const struct {
    const char *name;
    void (*run)(void);
    int level;
} cases[] = {{"late", be_late, MPI_THREAD_SERIALIZED},
    {"close", close_early, MPI_THREAD_SERIALIZED},
    {"level", start_for_one_thread, MPI_THREAD_SINGLE},
    {"large", move_many, MPI_THREAD_SERIALIZED}};

int main(int argc, char **argv)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int level;

        if (argc != 2 || strcmp(argv[1], cases[k].name) != 0)
            continue;
        (void)MPI_Init_thread(&argc, &argv, cases[k].level, &level);
        (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        cases[k].run();
        if (rank == 0)
            printf("mpi-faults: %s\n", cases[k].name);
        (void)MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "usage: %s late|close|level|large\n", argv[0]);
    return 2;
}
