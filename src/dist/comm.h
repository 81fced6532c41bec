/* dist/comm.h -- collective operations of ranks, each within a deadline.
 *
 * A communicator is one rank's end of a group. Every rank of the group calls
 * the same operations in the same order, each with matching counts; a call
 * returns when this rank's part is done. A rank that does not arrive within
 * the deadline makes the others fail with ETX_ERR_IO and a message that names
 * the operation; one that aborts (etx_comm_abort) makes them fail with
 * ETX_ERR_RANK. After a failure the group is broken: every later call
 * fails immediately, and the contents of the failed call's buffers are
 * undefined. No rank accesses the buffers of a call that has returned, failed
 * or not.
 *
 * A transport is one table of functions in one file. A communicator is used by
 * one thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_COMM_H
#define ETX_DIST_COMM_H

#include <exatrkx/exatrkx.h>

struct etx_comm;

/* The longest deadline, 30 years: it fits a time_t, and its milliseconds an
 * int64_t. */
#define ETX_COMM_MAX_SECONDS 1e9

/* What etx_comm_sum adds. */
enum etx_comm_type { ETX_COMM_F32, ETX_COMM_F64, ETX_COMM_I64 };

/* The operations of a transport. Counts are of elements of `size` bytes.
 * Buffers do not overlap and are in host memory, but for share. The wrappers
 * below have checked arguments and measure time; a transport returns ETX_ERR_IO
 * itself when comm->deadline seconds have passed, and ETX_ERR_RANK when
 * another rank aborted. */
struct etx_comm_transport {
    const char *name; /* "threads", "mpi", ... */

    /* values [n] of type (enum etx_comm_type) become their sum over the ranks,
     * the same bits on every rank. The order of the sum is the transport's;
     * where all ranks but one have zeros the sum is exact. Integers are added
     * modulo 2^64. */
    etx_status (*sum)(
        struct etx_comm *comm, void *values, int64_t n, int32_t type);

    /* all = mine of rank 0, of rank 1, ...; rank r contributes count[r]
     * [n_ranks] elements; all ranks know all counts. */
    etx_status (*gather)(struct etx_comm *comm, void *all, const void *mine,
        const int64_t *count, size_t size);

    /* to: n_to[r] [n_ranks] elements for each rank r in turn; from: n_from[r]
     * [n_ranks] elements of each rank r in turn. n_from[r] of this rank is
     * n_to[this rank] of rank r. */
    etx_status (*all_to_all)(struct etx_comm *comm, void *from,
        const int64_t *n_from, const void *to, const int64_t *n_to,
        size_t size);

    /* data [n] of rank root reaches every rank. */
    etx_status (*broadcast)(struct etx_comm *comm, void *data, int64_t n,
        size_t size, int32_t root);

    /* NULL, or: slice[k] [n_values] in memory of this rank's device becomes
     * that of rank owner[k], k < n_slices. */
    etx_status (*share)(struct etx_comm *comm, float *const *slice,
        int64_t n_values, int64_t n_slices, const int32_t *owner);

    /* No rank returns before every rank has called. */
    etx_status (*barrier)(struct etx_comm *comm);

    /* Notify the other ranks that this one has failed; NULL: they notice when
     * their deadline has passed. */
    void (*abort_group)(struct etx_comm *comm);

    /* End every process of the group, this one too, with this exit status;
     * NULL: the group is threads of one process, which abort_group notifies. */
    void (*end_processes)(struct etx_comm *comm, int32_t exit_status);

    /* Release comm->self; the other ranks may have closed theirs. */
    void (*close)(struct etx_comm *comm);
};

/* Since the communicator was created. */
struct etx_comm_statistics {
    double seconds;         /* in operations other than barriers */
    double barrier_seconds; /* waiting for other ranks */
    int64_t n_calls;        /* of operations other than barriers */
    int64_t n_bytes;        /* that this rank sent */
};

/* One rank's end of a group; created by a transport's open function, which
 * fills everything but `statistics` and `is_broken`. */
struct etx_comm {
    const struct etx_comm_transport *transport;
    void *self;      /* the transport's */
    int32_t rank;    /* 0 .. n_ranks-1 */
    int32_t n_ranks; /* >= 1 */
    double deadline; /* seconds that this rank waits for others in one call,
                      * above 0 and at most ETX_COMM_MAX_SECONDS */
    int32_t is_broken;
    int32_t is_leaving; /* tells the others that it failed: that ends by them or
                         * the deadline, not by its caller's cancel */
    struct etx_comm_statistics statistics;
};

/* A communicator of this transport; self is the transport's, and is not
 * released when this fails. */
etx_status etx_comm_create(struct etx_comm **out,
    const struct etx_comm_transport *transport, void *self, int32_t rank,
    int32_t n_ranks, double deadline);

/* ETX_ERR_ARGUMENT unless a group can have n_ranks threads. */
etx_status etx_comm_check_threads(int32_t n_ranks);

/* n_ranks communicators [n_ranks] for as many threads of this process; each is
 * used by one thread and closed by etx_comm_close. */
etx_status etx_comm_open_threads(
    struct etx_comm **out, int32_t n_ranks, double deadline);

/* MPI_COMM_WORLD; starts MPI when the host has not. ETX_ERR_UNSUPPORTED in a
 * build without MPI, and when MPI's thread level is below SERIALIZED. Closing
 * it ends MPI when this started it. */
etx_status etx_comm_open_mpi(struct etx_comm **out, double deadline);

/* The ranks of host, each with a CUDA device of its own: share goes over NCCL,
 * every other operation over host, which must outlive *out.
 * Collective: when a rank has no device all fail. ETX_ERR_UNSUPPORTED without
 * the device or in a build without NCCL. */
etx_status etx_comm_open_nccl(struct etx_comm **out, struct etx_comm *host,
    int32_t device, double deadline);

/* 1 when this build has NCCL. */
int32_t etx_comm_has_nccl(void);

/* 1 when this build has MPI. */
int32_t etx_comm_has_mpi(void);

/* The operations; see struct etx_comm_transport. With one rank they copy. */
etx_status etx_comm_sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type);
etx_status etx_comm_gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size);
etx_status etx_comm_all_to_all(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size);
etx_status etx_comm_broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root);
etx_status etx_comm_share(struct etx_comm *comm, float *const *slice,
    int64_t n_values, int64_t n_slices, const int32_t *owner);
etx_status etx_comm_barrier(struct etx_comm *comm);

/* This rank failed: notify the others; later calls of this rank fail. */
void etx_comm_abort(struct etx_comm *comm);

/* NULL is fine. */
void etx_comm_close(struct etx_comm *comm);

/* The monotonic clock, seconds: for deadlines. */
double etx_comm_now(void);

#endif
