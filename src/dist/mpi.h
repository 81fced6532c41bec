/* dist/mpi.h -- what the files of the MPI transport share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_MPI_H
#define ETX_DIST_MPI_H

#include <mpi.h>

#include "dist/comm.h"

/* Bytes of all ranks that one call moves, and at least of each. */
#define ETX_MPI_PIECE_BYTES     ((int64_t)1 << 22)
#define ETX_MPI_MIN_PIECE_BYTES ((int64_t)4096)

/* What a communicator holds; MPI may write to all of it while request is not
 * MPI_REQUEST_NULL. */
struct mpi {
    MPI_Comm comm;       /* of this library alone */
    MPI_Comm leaving;    /* for close, which must not meet an operation */
    MPI_Request request; /* of the collective under way */
    int32_t is_started;  /* MPI is to be finalised */
    int64_t n_piece;     /* bytes of one rank in a piece of all ranks */
    char *in, *out;      /* [n_ranks * n_piece, at least
                          * ETX_MPI_PIECE_BYTES] */
    int64_t max;         /* pieces of an all-to-all */
    int *n_in, *n_out;   /* [n_ranks] bytes of a piece */
    int *displacement;   /* [n_ranks] r * n_piece */
};

/* ETX_ERR_IO, with the operation's name, for an error code of MPI. */
etx_status etx_mpi_check(const char *operation, int code);

/* Until the request of comm that `code` came with is done; ETX_ERR_IO when the
 * deadline has passed, and the request is then under way for good. */
etx_status etx_mpi_finish(
    struct etx_comm *comm, const char *operation, int code);

/* The operations, and what end the communicator: mpi_open.c has the latter. */
extern const struct etx_comm_transport etx_mpi_transport;
void etx_mpi_end_processes(struct etx_comm *comm, int32_t exit_status);
void etx_mpi_close(struct etx_comm *comm);

#endif
