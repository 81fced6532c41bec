/* dist/mpi.c -- ranks that are processes, over MPI.
 *
 * Every operation is a nonblocking collective that is polled until it is done
 * or the deadline has passed: MPI itself waits for ever for a rank that hangs.
 * A collective that came too late is still in flight and may move data at any
 * later call of MPI, the host's too. So MPI only ever sees memory of the
 * communicator, which is taken at the start, and left to MPI for good when a
 * collective did not end: data go through it in pieces.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dist/fail.h"

#define SECONDS_OF_SPINNING 2e-3 /* then the core is left to others */
#define PIECE_BYTES         ((int64_t)1 << 22) /* of all ranks at once */
#define LEAST_PIECE_BYTES   ((int64_t)4096)    /* of one rank */

/* What a communicator holds; MPI may write to all of it while request is not
 * MPI_REQUEST_NULL. */
struct mpi {
    MPI_Comm comm;        /* of this library alone */
    MPI_Comm leaving;     /* for close, which must not meet an operation */
    MPI_Request request;  /* of the collective under way */
    int32_t started_here; /* MPI is to be finalised */
    int64_t n_piece;      /* bytes of one rank in a piece of all ranks */
    char *in, *out;       /* [n_ranks * n_piece, at least PIECE_BYTES] */
    int64_t most;         /* pieces of an exchange */
    int *n_in, *n_out;    /* [n_ranks] bytes of a piece */
    int *place;           /* [n_ranks] r * n_piece */
};

static etx_status check_mpi(const char *operation, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (code == MPI_SUCCESS)
        return ETX_OK;
    (void)MPI_Error_string(code, text, &length);
    return etx_dist_fail(ETX_ERR_IO, "%s: MPI: %s", operation, text);
}

static void rest(double waited)
{
    const struct timespec nap = {0, 50000};

    if (waited < SECONDS_OF_SPINNING)
        (void)sched_yield();
    else
        (void)nanosleep(&nap, NULL);
}

static struct mpi *self(const struct etx_comm *comm)
{
    return comm->self;
}

static etx_status say_late(const struct etx_comm *comm, const char *operation)
{
    return etx_dist_fail(ETX_ERR_IO,
        "%s: another of %d ranks did not arrive within %lld ms", operation,
        (int)comm->n_ranks, (long long)(comm->deadline * 1e3));
}

/* Until the request that `code` came with is done. */
static etx_status finish(
    struct etx_comm *comm, const char *operation, int code)
{
    const double begin = etx_comm_now();
    int is_done = 0;
    etx_status status = check_mpi(operation, code);

    while (status == ETX_OK && !is_done) {
        const double waited = etx_comm_now() - begin;

        status = check_mpi(operation,
            MPI_Test(&self(comm)->request, &is_done, MPI_STATUS_IGNORE));
        if (status != ETX_OK || is_done)
            break;
        if (waited > comm->deadline)
            return say_late(comm, operation);
        rest(waited);
    }
    return status;
}

/* ---------------------------------------------------------- operations -- */

static int64_t find_less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static MPI_Datatype find_type(int32_t type)
{
    if (type == ETX_COMM_F32)
        return MPI_FLOAT;
    return type == ETX_COMM_F64 ? MPI_DOUBLE : MPI_INT64_T;
}

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    struct mpi *mpi = self(comm);
    const int64_t size = type == ETX_COMM_F32 ? 4 : 8;
    char *here = values;
    etx_status status = ETX_OK;

    while (n > 0) {
        const int64_t piece = find_less(n, PIECE_BYTES / size);

        memcpy(mpi->in, here, (size_t)(piece * size));
        ETX_CHECK(finish(comm, "sum",
            MPI_Iallreduce(MPI_IN_PLACE, mpi->in, (int)piece,
                find_type(type), MPI_SUM, mpi->comm, &mpi->request)));
        memcpy(here, mpi->in, (size_t)(piece * size));
        here += piece * size;
        n -= piece;
    }
done:
    return status;
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    struct mpi *mpi = self(comm);
    char *here = data;
    etx_status status = ETX_OK;

    for (int64_t n_bytes = n * (int64_t)size; n_bytes > 0;) {
        const int64_t piece = find_less(n_bytes, PIECE_BYTES);

        if (comm->rank == root)
            memcpy(mpi->out, here, (size_t)piece);
        ETX_CHECK(finish(comm, "broadcast",
            MPI_Ibcast(mpi->out, (int)piece, MPI_BYTE, root, mpi->comm,
                &mpi->request)));
        if (comm->rank != root)
            memcpy(here, mpi->out, (size_t)piece);
        here += piece;
        n_bytes -= piece;
    }
done:
    return status;
}

static etx_status barrier(struct etx_comm *comm)
{
    struct mpi *mpi = self(comm);

    return finish(comm, "barrier", MPI_Ibarrier(mpi->comm, &mpi->request));
}

/* Data of all ranks, one after the other; bytes first .. of each rank's, as
 * many as fit, are a piece. */
struct parts {
    const int64_t *count; /* [n_ranks] elements */
    int64_t size;         /* bytes of an element */
};

static int64_t count_piece(
    const struct mpi *mpi, const struct parts *parts, int32_t r, int64_t first)
{
    const int64_t n_left = parts->count[r] * parts->size - first;

    return n_left > 0 ? find_less(n_left, mpi->n_piece) : 0;
}

/* Pieces that the largest part takes. */
static int64_t count_pieces(
    const struct etx_comm *comm, const struct parts *parts)
{
    int64_t most = 0;

    for (int32_t r = 0; r < comm->n_ranks; r++)
        if (parts->count[r] > most)
            most = parts->count[r];
    return (most * parts->size + self(comm)->n_piece - 1) /
           self(comm)->n_piece;
}

/* n [n_ranks] bytes that a piece has of each rank; data of those after `first`
 * go to mpi->out. */
static void put_piece(const struct etx_comm *comm, int *n,
    const struct parts *parts, int64_t first, const char *data)
{
    struct mpi *mpi = self(comm);

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        n[r] = (int)count_piece(mpi, parts, r, first);
        if (n[r] > 0)
            memcpy(mpi->out + mpi->place[r], data + first, (size_t)n[r]);
        data += parts->count[r] * parts->size;
    }
}

/* What came of each rank goes where the part of that rank goes on. */
static void take_piece(const struct etx_comm *comm, const struct parts *parts,
    int64_t first, char *data)
{
    const struct mpi *mpi = self(comm);

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (mpi->n_in[r] > 0)
            memcpy(data + first, mpi->in + mpi->place[r],
                (size_t)mpi->n_in[r]);
        data += parts->count[r] * parts->size;
    }
}

static void count_in(
    const struct etx_comm *comm, const struct parts *parts, int64_t first)
{
    struct mpi *mpi = self(comm);

    for (int32_t r = 0; r < comm->n_ranks; r++)
        mpi->n_in[r] = (int)count_piece(mpi, parts, r, first);
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    struct mpi *mpi = self(comm);
    const struct parts parts = {count, (int64_t)size};
    const int64_t n_pieces = count_pieces(comm, &parts);
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < n_pieces; k++) {
        const int64_t first = k * mpi->n_piece;

        count_in(comm, &parts, first);
        if (mpi->n_in[comm->rank] > 0)
            memcpy(mpi->out, (const char *)mine + first,
                (size_t)mpi->n_in[comm->rank]);
        ETX_CHECK(finish(comm, "gather",
            MPI_Iallgatherv(mpi->out, mpi->n_in[comm->rank], MPI_BYTE,
                mpi->in, mpi->n_in, mpi->place, MPI_BYTE, mpi->comm,
                &mpi->request)));
        take_piece(comm, &parts, first, all);
    }
done:
    return status;
}

/* No rank knows the parts of all: they agree on the number of pieces. */
static etx_status agree_on_pieces(
    struct etx_comm *comm, const struct parts *in, const struct parts *out)
{
    struct mpi *mpi = self(comm);
    const int64_t n_in = count_pieces(comm, in);
    const int64_t n_out = count_pieces(comm, out);

    mpi->most = n_in > n_out ? n_in : n_out;
    return finish(comm, "exchange",
        MPI_Iallreduce(MPI_IN_PLACE, &mpi->most, 1, MPI_INT64_T, MPI_MAX,
            mpi->comm, &mpi->request));
}

static etx_status exchange(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    struct mpi *mpi = self(comm);
    const struct parts in = {n_from, (int64_t)size};
    const struct parts out = {n_to, (int64_t)size};
    etx_status status = agree_on_pieces(comm, &in, &out);

    for (int64_t k = 0; status == ETX_OK && k < mpi->most; k++) {
        const int64_t first = k * mpi->n_piece;

        count_in(comm, &in, first);
        put_piece(comm, mpi->n_out, &out, first, to);
        ETX_CHECK(finish(comm, "exchange",
            MPI_Ialltoallv(mpi->out, mpi->n_out, mpi->place, MPI_BYTE,
                mpi->in, mpi->n_in, mpi->place, MPI_BYTE, mpi->comm,
                &mpi->request)));
        take_piece(comm, &in, first, from);
    }
done:
    return status;
}

/* ------------------------------------------------------- open and close -- */

static void end_processes(struct etx_comm *comm, int32_t exit_status)
{
    (void)MPI_Abort(self(comm)->comm, exit_status);
}

/* Memory that MPI may still write to is left to it. */
static void free_mpi(struct mpi *mpi)
{
    if (mpi == NULL || mpi->request != MPI_REQUEST_NULL)
        return;
    free(mpi->in);
    free(mpi->out);
    free(mpi->n_in);
    free(mpi->n_out);
    free(mpi->place);
    free(mpi);
}

/* Ranks take leave on a communicator of its own: a rank that is still in an
 * operation must not take the close of another for a part of it. A broken
 * group cannot take leave of each other: MPI_Finalize would wait. */
static void close_mpi(struct etx_comm *comm)
{
    struct mpi *mpi = self(comm);

    if (!comm->is_broken &&
        finish(comm, "close",
            MPI_Ibarrier(mpi->leaving, &mpi->request)) == ETX_OK) {
        (void)MPI_Comm_free(&mpi->leaving);
        (void)MPI_Comm_free(&mpi->comm);
        if (mpi->started_here)
            (void)MPI_Finalize();
    }
    free_mpi(mpi);
}

static const struct etx_comm_transport transport = {.name = "mpi",
    .sum = sum,
    .gather = gather,
    .exchange = exchange,
    .broadcast = broadcast,
    .barrier = barrier,
    .end_processes = end_processes,
    .close = close_mpi};

/* A rank may be used by any thread, one at a time. */
static etx_status check_level(void)
{
    int level = MPI_THREAD_SINGLE;

    (void)MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_UNSUPPORTED,
        "MPI: it was started with thread level %d, which is below %d: ask "
        "MPI_Init_thread for MPI_THREAD_SERIALIZED",
        level, MPI_THREAD_SERIALIZED);
}

/* Every rank starts MPI, or its host has. */
static etx_status start_mpi(int32_t *started_here)
{
    int is_on = 0;
    int is_over = 0;
    int level;

    (void)MPI_Initialized(&is_on);
    (void)MPI_Finalized(&is_over);
    if (is_over)
        return etx_dist_fail(
            ETX_ERR_IO, "MPI: this process has finalised it already");
    *started_here = !is_on;
    if (!is_on && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
                      MPI_SUCCESS)
        return etx_dist_fail(ETX_ERR_IO, "MPI: cannot be started");
    return check_level();
}

/* Everything that MPI will read or write, so that no operation can fail for
 * want of memory on one rank alone. */
static etx_status take_memory(struct mpi *mpi, int32_t n_ranks)
{
    const int64_t share = PIECE_BYTES / n_ranks;
    int64_t n_bytes;
    etx_status status;

    mpi->n_piece = share > LEAST_PIECE_BYTES ? share : LEAST_PIECE_BYTES;
    n_bytes = mpi->n_piece * n_ranks;
    if (n_bytes < PIECE_BYTES)
        n_bytes = PIECE_BYTES;
    ETX_CHECK(etx_dist_alloc(&mpi->in, n_bytes, 1, "data of ranks"));
    ETX_CHECK(etx_dist_alloc(&mpi->out, n_bytes, 1, "data of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &mpi->n_in, n_ranks, sizeof(int), "counts of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &mpi->n_out, n_ranks, sizeof(int), "counts of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &mpi->place, n_ranks, sizeof(int), "places of ranks"));
    for (int32_t r = 0; r < n_ranks; r++)
        mpi->place[r] = (int)(r * mpi->n_piece);
done:
    return status;
}

/* The world's twin in *out, which hands errors back. */
static etx_status copy_world(struct etx_comm *comm, MPI_Comm *out)
{
    etx_status status;

    ETX_CHECK(finish(comm, "start",
        MPI_Comm_idup(MPI_COMM_WORLD, out, &self(comm)->request)));
    ETX_CHECK(check_mpi(
        "start", MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN)));
done:
    return status;
}

/* What fails here is no reason to end the host: its own way with errors is put
 * aside meanwhile. */
static etx_status copy_worlds(struct etx_comm *comm)
{
    MPI_Errhandler of_host = MPI_ERRHANDLER_NULL;
    etx_status status;

    (void)MPI_Comm_get_errhandler(MPI_COMM_WORLD, &of_host);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    ETX_CHECK(copy_world(comm, &self(comm)->comm));
    ETX_CHECK(copy_world(comm, &self(comm)->leaving));
done:
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_host);
    (void)MPI_Errhandler_free(&of_host);
    return status;
}

etx_status etx_comm_open_mpi(struct etx_comm **out, double deadline)
{
    struct mpi *mpi = NULL;
    struct etx_comm *comm = NULL;
    int rank = 0;
    int n_ranks = 1;
    etx_status status;

    ETX_CHECK(etx_dist_alloc(&mpi, 1, sizeof *mpi, "an MPI communicator"));
    mpi->request = MPI_REQUEST_NULL;
    ETX_CHECK(start_mpi(&mpi->started_here));
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    ETX_CHECK(take_memory(mpi, n_ranks));
    ETX_CHECK(etx_comm_create(
        &comm, &transport, mpi, rank, n_ranks, deadline));
    ETX_CHECK(copy_worlds(comm));
    *out = comm;
    return ETX_OK;
done:
    free(comm);
    free_mpi(mpi);
    return status;
}

int32_t etx_comm_has_mpi(void)
{
    return 1;
}
