/* dist/mpi.c -- ranks that are processes, over MPI.
 *
 * Every operation is a nonblocking collective that is polled until it is done
 * or the deadline has passed: MPI itself waits for ever for a rank that hangs.
 * What a late collective would still write is never read: the group is broken,
 * and the program is expected to end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "dist/fail.h"

#define SECONDS_OF_SPINNING 2e-3 /* then the core is left to others */

/* What a communicator holds. */
struct mpi {
    MPI_Comm comm;        /* of this library alone */
    int32_t started_here; /* MPI is to be finalised */
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

/* Until the request that `code` came with is done. */
static etx_status finish(struct etx_comm *comm, const char *operation,
    int code, MPI_Request *request)
{
    const double begin = etx_comm_now();
    int is_done = 0;
    etx_status status = check_mpi(operation, code);

    while (status == ETX_OK && !is_done) {
        const double waited = etx_comm_now() - begin;

        status = check_mpi(
            operation, MPI_Test(request, &is_done, MPI_STATUS_IGNORE));
        if (status != ETX_OK || is_done)
            break;
        if (waited > comm->deadline)
            return etx_dist_fail(ETX_ERR_IO,
                "%s: another of %d ranks did not arrive within %lld ms",
                operation, (int)comm->n_ranks,
                (long long)(comm->deadline * 1e3));
        rest(waited);
    }
    return status;
}

static MPI_Comm world(const struct etx_comm *comm)
{
    const struct mpi *mpi = comm->self;

    return mpi->comm;
}

/* ---------------------------------------------------------- operations -- */

static MPI_Datatype find_type(int32_t type)
{
    if (type == ETX_COMM_F32)
        return MPI_FLOAT;
    return type == ETX_COMM_F64 ? MPI_DOUBLE : MPI_INT64_T;
}

/* How many of n elements from `first` on go into one call. */
static int count_piece(int64_t n, int64_t first)
{
    const int64_t most = 1 << 28;

    return (int)(n - first < most ? n - first : most);
}

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    const size_t size = type == ETX_COMM_F32 ? 4 : 8;
    etx_status status = ETX_OK;

    for (int64_t first = 0; first < n && status == ETX_OK;) {
        const int piece = count_piece(n, first);
        char *here = (char *)values + (size_t)first * size;
        MPI_Request request;
        const int code = MPI_Iallreduce(MPI_IN_PLACE, here, piece,
            find_type(type), MPI_SUM, world(comm), &request);

        status = finish(comm, "sum", code, &request);
        first += piece;
    }
    return status;
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    const int64_t n_bytes = n * (int64_t)size;
    etx_status status = ETX_OK;

    for (int64_t first = 0; first < n_bytes && status == ETX_OK;) {
        const int piece = count_piece(n_bytes, first);
        MPI_Request request;
        const int code = MPI_Ibcast((char *)data + first, piece, MPI_BYTE,
            root, world(comm), &request);

        status = finish(comm, "broadcast", code, &request);
        first += piece;
    }
    return status;
}

static etx_status barrier(struct etx_comm *comm)
{
    MPI_Request request;
    const int code = MPI_Ibarrier(world(comm), &request);

    return finish(comm, "barrier", code, &request);
}

/* Counts and places of parts as MPI wants them, in elements. */
struct parts {
    int *count, *place; /* [n_ranks] */
};

static void free_parts(struct parts *parts)
{
    free(parts->count);
    free(parts->place);
}

static etx_status make_parts(struct parts *parts, const struct etx_comm *comm,
    const int64_t *count, const char *operation)
{
    int64_t place = 0;
    etx_status status;

    ETX_CHECK(etx_dist_alloc(
        &parts->count, comm->n_ranks, sizeof(int), "counts of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &parts->place, comm->n_ranks, sizeof(int), "places of ranks"));
    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (place + count[r] > INT_MAX)
            return etx_dist_fail(ETX_ERR_LIMIT,
                "%s: %lld elements of %d ranks are above %d", operation,
                (long long)(place + count[r]), (int)r + 1, INT_MAX);
        parts->count[r] = (int)count[r];
        parts->place[r] = (int)place;
        place += count[r];
    }
done:
    return status;
}

/* An element of so many bytes. */
static etx_status make_element(MPI_Datatype *out, size_t size)
{
    etx_status status = check_mpi("element type",
        MPI_Type_contiguous((int)size, MPI_BYTE, out));

    if (status == ETX_OK)
        status = check_mpi("element type", MPI_Type_commit(out));
    return status;
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    struct parts parts = {NULL, NULL};
    MPI_Datatype element = MPI_DATATYPE_NULL;
    MPI_Request request;
    etx_status status;

    ETX_CHECK(make_parts(&parts, comm, count, "gather"));
    ETX_CHECK(make_element(&element, size));
    ETX_CHECK(finish(comm, "gather",
        MPI_Iallgatherv(mine, parts.count[comm->rank], element, all,
            parts.count, parts.place, element, world(comm), &request),
        &request));
    ETX_CHECK(check_mpi("element type", MPI_Type_free(&element)));
done:
    free_parts(&parts);
    return status;
}

static etx_status exchange(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    struct parts in = {NULL, NULL};
    struct parts out = {NULL, NULL};
    MPI_Datatype element = MPI_DATATYPE_NULL;
    MPI_Request request;
    etx_status status;

    ETX_CHECK(make_parts(&in, comm, n_from, "exchange"));
    ETX_CHECK(make_parts(&out, comm, n_to, "exchange"));
    ETX_CHECK(make_element(&element, size));
    ETX_CHECK(finish(comm, "exchange",
        MPI_Ialltoallv(to, out.count, out.place, element, from, in.count,
            in.place, element, world(comm), &request),
        &request));
    ETX_CHECK(check_mpi("element type", MPI_Type_free(&element)));
done:
    free_parts(&in);
    free_parts(&out);
    return status;
}

/* ------------------------------------------------------- open and close -- */

static void end_processes(struct etx_comm *comm, int32_t exit_status)
{
    (void)MPI_Abort(world(comm), exit_status);
}

/* A broken group cannot take leave of each other: MPI_Finalize would wait. */
static void close_mpi(struct etx_comm *comm)
{
    struct mpi *mpi = comm->self;

    if (!comm->is_broken && barrier(comm) == ETX_OK) {
        (void)MPI_Comm_free(&mpi->comm);
        if (mpi->started_here)
            (void)MPI_Finalize();
    }
    free(mpi);
}

static const struct etx_comm_transport transport = {.name = "mpi",
    .sum = sum,
    .gather = gather,
    .exchange = exchange,
    .broadcast = broadcast,
    .barrier = barrier,
    .end_processes = end_processes,
    .close = close_mpi};

/* Every rank starts MPI, or its host has. */
static etx_status start_mpi(int32_t *started_here)
{
    int is_on = 0;
    int is_over = 0;
    int level = MPI_THREAD_SINGLE;

    (void)MPI_Initialized(&is_on);
    (void)MPI_Finalized(&is_over);
    if (is_over)
        return etx_dist_fail(
            ETX_ERR_IO, "MPI: this process has finalised it already");
    *started_here = !is_on;
    if (!is_on && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
                      MPI_SUCCESS)
        return etx_dist_fail(ETX_ERR_IO, "MPI: cannot be started");
    return ETX_OK;
}

etx_status etx_comm_open_mpi(struct etx_comm **out, double deadline)
{
    struct mpi *mpi = NULL;
    struct etx_comm *comm = NULL;
    MPI_Request request;
    int rank = 0;
    int n_ranks = 1;
    etx_status status;

    ETX_CHECK(etx_dist_alloc(&mpi, 1, sizeof *mpi, "an MPI communicator"));
    ETX_CHECK(start_mpi(&mpi->started_here));
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    ETX_CHECK(etx_comm_create(
        &comm, &transport, mpi, rank, n_ranks, deadline));
    ETX_CHECK(finish(comm, "start",
        MPI_Comm_idup(MPI_COMM_WORLD, &mpi->comm, &request), &request));
    ETX_CHECK(check_mpi("start",
        MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN)));
    *out = comm;
    return ETX_OK;
done:
    free(comm);
    free(mpi);
    return status;
}

int32_t etx_comm_has_mpi(void)
{
    return 1;
}
