/* dist/mpi_open.c -- join the processes of MPI, and leave them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/mpi.h"

#include <stdlib.h>

#include "dist/fail.h"

static struct mpi *self(const struct etx_comm *comm)
{
    return comm->self;
}

void etx_mpi_end_processes(struct etx_comm *comm, int32_t exit_status)
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
    free(mpi->displacement);
    free(mpi);
}

/* The last barrier has a communicator of its own, so that a rank which is still
 * in an operation does not match the barrier of a rank that closes. A broken
 * group makes no barrier and does not finalise: MPI_Finalize would wait. */
void etx_mpi_close(struct etx_comm *comm)
{
    struct mpi *mpi = self(comm);

    if (!comm->is_broken &&
        etx_mpi_finish(comm, "close",
            MPI_Ibarrier(mpi->leaving, &mpi->request)) == ETX_OK) {
        (void)MPI_Comm_free(&mpi->leaving);
        (void)MPI_Comm_free(&mpi->comm);
        if (mpi->is_started)
            (void)MPI_Finalize();
    }
    free_mpi(mpi);
}

/* A rank may be used by any thread, one at a time. */
static etx_status check_level(void)
{
    int level = MPI_THREAD_SINGLE;

    (void)MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_UNSUPPORTED,
        "MPI: it was started with thread level %d, which is below %d: call "
        "MPI_Init_thread with MPI_THREAD_SERIALIZED",
        level, MPI_THREAD_SERIALIZED);
}

/* Every rank starts MPI, or its host has. */
static etx_status start_mpi(int32_t *is_started)
{
    int is_on = 0;
    int is_over = 0;
    int level;

    (void)MPI_Initialized(&is_on);
    (void)MPI_Finalized(&is_over);
    if (is_over)
        return etx_dist_fail(
            ETX_ERR_IO, "MPI: this process has finalised it already");
    *is_started = !is_on;
    if (!is_on && MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) !=
                      MPI_SUCCESS)
        return etx_dist_fail(ETX_ERR_IO, "MPI: cannot be started");
    return check_level();
}

/* Everything that MPI will read or write, so that no operation can fail for
 * want of memory on one rank alone. */
static etx_status alloc_buffers(struct mpi *mpi, int32_t n_ranks)
{
    const int64_t share = ETX_MPI_PIECE_BYTES / n_ranks;
    int64_t n_bytes;
    etx_status status;

    mpi->n_piece =
        share > ETX_MPI_MIN_PIECE_BYTES ? share : ETX_MPI_MIN_PIECE_BYTES;
    n_bytes = mpi->n_piece * n_ranks;
    if (n_bytes < ETX_MPI_PIECE_BYTES)
        n_bytes = ETX_MPI_PIECE_BYTES;
    ETX_CHECK(etx_dist_alloc(&mpi->in, n_bytes, 1, "data of ranks"));
    ETX_CHECK(etx_dist_alloc(&mpi->out, n_bytes, 1, "data of ranks"));
    ETX_CHECK(
        etx_dist_alloc(&mpi->n_in, n_ranks, sizeof(int), "counts of ranks"));
    ETX_CHECK(
        etx_dist_alloc(&mpi->n_out, n_ranks, sizeof(int), "counts of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &mpi->displacement, n_ranks, sizeof(int), "offsets of ranks"));
    for (int32_t r = 0; r < n_ranks; r++)
        mpi->displacement[r] = (int)(r * mpi->n_piece);
done:
    return status;
}

/* *out = a duplicate of the world, which returns errors. */
static etx_status copy_world(struct etx_comm *comm, MPI_Comm *out)
{
    etx_status status;

    ETX_CHECK(etx_mpi_finish(comm, "start",
        MPI_Comm_idup(MPI_COMM_WORLD, out, &self(comm)->request)));
    ETX_CHECK(etx_mpi_check(
        "start", MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN)));
done:
    return status;
}

/* A failure must not end the host: its error handler is replaced meanwhile. */
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
    ETX_CHECK(start_mpi(&mpi->is_started));
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    ETX_CHECK(alloc_buffers(mpi, n_ranks));
    ETX_CHECK(etx_comm_create(
        &comm, &etx_mpi_transport, mpi, rank, n_ranks, deadline));
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
