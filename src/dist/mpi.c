/* dist/mpi.c -- ranks that are processes, over MPI.
 *
 * Every operation is a nonblocking collective that is polled until it is done
 * or the deadline has passed: MPI itself waits for ever for a rank that hangs.
 * A collective that came too late is still in flight and may move data at any
 * later call of MPI, the host's too. So MPI only ever sees memory of the
 * communicator: staging buffers that are allocated at the start, and leaked
 * when a collective did not end. Data are copied through them in pieces.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/mpi.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "dist/fail.h"

#define SECONDS_OF_SPINNING 2e-3 /* then the core is left to others */

etx_status etx_mpi_check(const char *operation, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (code == MPI_SUCCESS)
        return ETX_OK;
    (void)MPI_Error_string(code, text, &length);
    return etx_dist_fail(ETX_ERR_IO, "%s: MPI: %s", operation, text);
}

/* Yield at first, then sleep, between two polls. */
static void back_off(double waited)
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

static etx_status fail_late(const struct etx_comm *comm, const char *operation)
{
    return etx_dist_fail(ETX_ERR_IO,
        "%s: another of %d ranks did not arrive within %lld ms", operation,
        (int)comm->n_ranks, (long long)(comm->deadline * 1e3));
}

/* Wait until mpi->request is complete; code is what MPI returned for it. */
etx_status etx_mpi_finish(
    struct etx_comm *comm, const char *operation, int code)
{
    const double begin = etx_comm_now();
    int is_done = 0;
    etx_status status = etx_mpi_check(operation, code);

    while (status == ETX_OK && !is_done) {
        const double waited = etx_comm_now() - begin;

        status = etx_mpi_check(operation,
            MPI_Test(&self(comm)->request, &is_done, MPI_STATUS_IGNORE));
        if (status != ETX_OK || is_done)
            break;
        if (waited > comm->deadline)
            return fail_late(comm, operation);
        if (!comm->is_leaving && etx_is_cancelled())
            return etx_dist_fail(
                ETX_ERR_CANCELLED, "%s: cancelled by the caller", operation);
        back_off(waited);
    }
    return status;
}

/* ---------------------------------------------------------- operations -- */

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static MPI_Datatype find_type(int32_t type)
{
    if (type == ETX_COMM_F32)
        return MPI_FLOAT;
    return type == ETX_COMM_F64 ? MPI_DOUBLE : MPI_UINT64_T;
}

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    struct mpi *mpi = self(comm);
    const int64_t size = type == ETX_COMM_F32 ? 4 : 8;
    char *at = values;
    etx_status status = ETX_OK;

    while (n > 0) {
        const int64_t piece = min(n, ETX_MPI_PIECE_BYTES / size);

        memcpy(mpi->in, at, (size_t)(piece * size));
        ETX_CHECK(etx_mpi_finish(comm, "sum",
            MPI_Iallreduce(MPI_IN_PLACE, mpi->in, (int)piece, find_type(type),
                MPI_SUM, mpi->comm, &mpi->request)));
        memcpy(at, mpi->in, (size_t)(piece * size));
        at += piece * size;
        n -= piece;
    }
done:
    return status;
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    struct mpi *mpi = self(comm);
    char *at = data;
    etx_status status = ETX_OK;

    for (int64_t n_bytes = n * (int64_t)size; n_bytes > 0;) {
        const int64_t piece = min(n_bytes, ETX_MPI_PIECE_BYTES);

        if (comm->rank == root)
            memcpy(mpi->out, at, (size_t)piece);
        ETX_CHECK(etx_mpi_finish(comm, "broadcast",
            MPI_Ibcast(mpi->out, (int)piece, MPI_BYTE, root, mpi->comm,
                &mpi->request)));
        if (comm->rank != root)
            memcpy(at, mpi->out, (size_t)piece);
        at += piece;
        n_bytes -= piece;
    }
done:
    return status;
}

static etx_status barrier(struct etx_comm *comm)
{
    struct mpi *mpi = self(comm);

    return etx_mpi_finish(
        comm, "barrier", MPI_Ibarrier(mpi->comm, &mpi->request));
}

/* One block of data per rank, one after the other. A piece is what fits the
 * staging buffer: up to n_piece bytes of every block, from byte `first` on. */
struct blocks {
    const int64_t *count; /* [n_ranks] elements */
    int64_t size;         /* bytes of an element */
};

static int64_t count_piece(const struct mpi *mpi, const struct blocks *blocks,
    int32_t r, int64_t first)
{
    const int64_t n_left = blocks->count[r] * blocks->size - first;

    return n_left > 0 ? min(n_left, mpi->n_piece) : 0;
}

/* Pieces of the largest block. */
static int64_t count_pieces(
    const struct etx_comm *comm, const struct blocks *blocks)
{
    int64_t max = 0;

    for (int32_t r = 0; r < comm->n_ranks; r++)
        if (blocks->count[r] > max)
            max = blocks->count[r];
    return (max * blocks->size + self(comm)->n_piece - 1) / self(comm)->n_piece;
}

/* Copy the piece at `first` to mpi->out; n [n_ranks]: its bytes for each rank.
 */
static void pack_piece(const struct etx_comm *comm, int *n,
    const struct blocks *blocks, int64_t first, const char *data)
{
    struct mpi *mpi = self(comm);

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        n[r] = (int)count_piece(mpi, blocks, r, first);
        if (n[r] > 0)
            memcpy(mpi->out + mpi->displacement[r], data + first, (size_t)n[r]);
        data += blocks->count[r] * blocks->size;
    }
}

/* Append what arrived from each rank to the elements of that rank. */
static void unpack_piece(const struct etx_comm *comm,
    const struct blocks *blocks, int64_t first, char *data)
{
    const struct mpi *mpi = self(comm);

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (mpi->n_in[r] > 0)
            memcpy(data + first, mpi->in + mpi->displacement[r],
                (size_t)mpi->n_in[r]);
        data += blocks->count[r] * blocks->size;
    }
}

static void count_in(
    const struct etx_comm *comm, const struct blocks *blocks, int64_t first)
{
    struct mpi *mpi = self(comm);

    for (int32_t r = 0; r < comm->n_ranks; r++)
        mpi->n_in[r] = (int)count_piece(mpi, blocks, r, first);
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    struct mpi *mpi = self(comm);
    const struct blocks blocks = {count, (int64_t)size};
    const int64_t n_pieces = count_pieces(comm, &blocks);
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < n_pieces; k++) {
        const int64_t first = k * mpi->n_piece;

        count_in(comm, &blocks, first);
        if (mpi->n_in[comm->rank] > 0)
            memcpy(mpi->out, (const char *)mine + first,
                (size_t)mpi->n_in[comm->rank]);
        ETX_CHECK(etx_mpi_finish(comm, "gather",
            MPI_Iallgatherv(mpi->out, mpi->n_in[comm->rank], MPI_BYTE, mpi->in,
                mpi->n_in, mpi->displacement, MPI_BYTE, mpi->comm,
                &mpi->request)));
        unpack_piece(comm, &blocks, first, all);
    }
done:
    return status;
}

/* A rank does not know the block sizes of the others: agree on the number of
 * pieces. */
static etx_status agree_on_pieces(
    struct etx_comm *comm, const struct blocks *in, const struct blocks *out)
{
    struct mpi *mpi = self(comm);
    const int64_t n_in = count_pieces(comm, in);
    const int64_t n_out = count_pieces(comm, out);

    mpi->max = n_in > n_out ? n_in : n_out;
    return etx_mpi_finish(comm, "all-to-all",
        MPI_Iallreduce(MPI_IN_PLACE, &mpi->max, 1, MPI_INT64_T, MPI_MAX,
            mpi->comm, &mpi->request));
}

static etx_status all_to_all(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    struct mpi *mpi = self(comm);
    const struct blocks in = {n_from, (int64_t)size};
    const struct blocks out = {n_to, (int64_t)size};
    etx_status status = agree_on_pieces(comm, &in, &out);

    for (int64_t k = 0; status == ETX_OK && k < mpi->max; k++) {
        const int64_t first = k * mpi->n_piece;

        count_in(comm, &in, first);
        pack_piece(comm, mpi->n_out, &out, first, to);
        ETX_CHECK(etx_mpi_finish(comm, "all-to-all",
            MPI_Ialltoallv(mpi->out, mpi->n_out, mpi->displacement, MPI_BYTE,
                mpi->in, mpi->n_in, mpi->displacement, MPI_BYTE, mpi->comm,
                &mpi->request)));
        unpack_piece(comm, &in, first, from);
    }
done:
    return status;
}

/* ------------------------------------------------------------- the table -- */

const struct etx_comm_transport etx_mpi_transport = {.name = "mpi",
    .sum = sum,
    .gather = gather,
    .all_to_all = all_to_all,
    .broadcast = broadcast,
    .barrier = barrier,
    .end_processes = etx_mpi_end_processes,
    .close = etx_mpi_close};
