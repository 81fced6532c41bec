/* dist/comm.c -- what every transport has in common: a broken group stays
 * broken, and time and bytes are counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include <stdlib.h>
#include <time.h>

#include "dist/fail.h"

double etx_comm_now(void)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

etx_status etx_comm_create(struct etx_comm **out,
    const struct etx_comm_transport *transport, void *self, int32_t rank,
    int32_t n_ranks, double deadline)
{
    struct etx_comm *comm = NULL;
    const etx_status status =
        etx_dist_alloc(&comm, 1, sizeof *comm, "a communicator");

    if (status != ETX_OK)
        return status;
    *comm = (struct etx_comm){.transport = transport,
        .self = self,
        .rank = rank,
        .n_ranks = n_ranks,
        .deadline = deadline};
    *out = comm;
    return ETX_OK;
}

static etx_status check(const struct etx_comm *comm, const char *operation)
{
    if (!comm->is_broken)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_RANK,
        "%s: the ranks are no longer together after an earlier failure",
        operation);
}

/* An operation that began at `begin` is over. */
static etx_status end_operation(
    struct etx_comm *comm, etx_status status, double begin, int64_t n_bytes)
{
    comm->statistics.seconds += etx_comm_now() - begin;
    comm->statistics.n_calls++;
    comm->statistics.n_bytes += n_bytes;
    comm->is_broken |= status != ETX_OK;
    return status;
}

static int64_t count_all(const int64_t *count, int32_t n)
{
    int64_t sum = 0;

    for (int32_t r = 0; r < n; r++)
        sum += count[r];
    return sum;
}

etx_status etx_comm_sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    const double begin = etx_comm_now();
    const int64_t size = type == ETX_COMM_F32 ? 4 : 8;
    etx_status status = check(comm, "sum");

    if (status == ETX_OK && n > 0 && comm->n_ranks > 1)
        status = comm->transport->sum(comm, values, n, type);
    return end_operation(comm, status, begin, n * size);
}

etx_status etx_comm_gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    const double begin = etx_comm_now();
    etx_status status = check(comm, "gather");

    if (status == ETX_OK && count_all(count, comm->n_ranks) > 0)
        status = comm->transport->gather(comm, all, mine, count, size);
    return end_operation(
        comm, status, begin, count[comm->rank] * (int64_t)size);
}

etx_status etx_comm_all_to_all(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    const double begin = etx_comm_now();
    etx_status status = check(comm, "all-to-all");

    if (status == ETX_OK)
        status =
            comm->transport->all_to_all(comm, from, n_from, to, n_to, size);
    return end_operation(
        comm, status, begin, count_all(n_to, comm->n_ranks) * (int64_t)size);
}

etx_status etx_comm_broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    const double begin = etx_comm_now();
    etx_status status = check(comm, "broadcast");

    if (status == ETX_OK && n > 0 && comm->n_ranks > 1)
        status = comm->transport->broadcast(comm, data, n, size, root);
    return end_operation(
        comm, status, begin, comm->rank == root ? n * (int64_t)size : 0);
}

etx_status etx_comm_share(struct etx_comm *comm, float *const *slice,
    int64_t n_values, int64_t n_slices, const int32_t *owner)
{
    const double begin = etx_comm_now();
    int64_t n_mine = 0;
    etx_status status = check(comm, "share");

    for (int64_t k = 0; k < n_slices; k++)
        n_mine += owner[k] == comm->rank;
    if (status == ETX_OK && n_values > 0)
        status = comm->transport->share(comm, slice, n_values, n_slices, owner);
    return end_operation(
        comm, status, begin, n_mine * n_values * (int64_t)sizeof(float));
}

etx_status etx_comm_barrier(struct etx_comm *comm)
{
    const double begin = etx_comm_now();
    etx_status status = check(comm, "barrier");

    if (status == ETX_OK && comm->n_ranks > 1)
        status = comm->transport->barrier(comm);
    comm->statistics.barrier_seconds += etx_comm_now() - begin;
    comm->is_broken |= status != ETX_OK;
    return status;
}

void etx_comm_abort(struct etx_comm *comm)
{
    if (comm->transport->abort_group != NULL)
        comm->transport->abort_group(comm);
    comm->is_broken = 1;
}

void etx_comm_close(struct etx_comm *comm)
{
    if (comm == NULL)
        return;
    comm->transport->close(comm);
    free(comm);
}
