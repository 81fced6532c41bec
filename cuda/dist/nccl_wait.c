/* cuda/dist/nccl_wait.c -- wait for NCCL, and say what went wrong.
 *
 * The communicator is non-blocking: a call returns immediately, and this thread
 * polls NCCL's own state and that of the stream until both are done or the
 * deadline has passed. Whatever goes wrong, the communicator is aborted.
 *
 * Source: NCCL User Guide, "Fault Tolerance".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include <time.h>

#include "dist/fail.h"

#define POLL_NANOSECONDS 20000 /* between two polls */

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

etx_status etx_nccl_check_cuda(
    const struct etx_comm *comm, const char *operation, cudaError_t error)
{
    if (error == cudaSuccess)
        return ETX_OK;
    return etx_dist_fail(
        error == cudaErrorMemoryAllocation ? ETX_ERR_MEMORY : ETX_ERR_DEVICE,
        "rank %d: %s: %s", (int)comm->rank, operation,
        cudaGetErrorString(error));
}

etx_status etx_nccl_fail(
    const struct etx_comm *comm, const char *operation, ncclResult_t result)
{
    return etx_dist_fail(
        result == ncclRemoteError ? ETX_ERR_IO : ETX_ERR_DEVICE,
        "rank %d: %s: NCCL: %s", (int)comm->rank, operation,
        ncclGetErrorString(result));
}

static etx_status fail_deadline(
    const struct etx_comm *comm, const char *operation)
{
    return etx_dist_fail(ETX_ERR_IO,
        "rank %d: %s: not all of %d ranks arrived within %lld ms",
        (int)comm->rank, operation, (int)comm->n_ranks,
        (long long)(comm->deadline * 1e3));
}

void etx_nccl_abort_kernels(struct nccl *nccl)
{
    if (nccl->comm != NULL)
        (void)ncclCommAbort(nccl->comm);
    nccl->comm = NULL;
}

static void sleep_until_next_poll(void)
{
    const struct timespec time = {0, POLL_NANOSECONDS};

    (void)nanosleep(&time, NULL);
}

/* Until NCCL has completed the call that returned `result`. */
static etx_status wait_nccl(const struct etx_comm *comm, const char *operation,
    ncclResult_t result, double end)
{
    while (result == ncclInProgress) {
        const ncclResult_t poll =
            ncclCommGetAsyncError(self(comm)->comm, &result);

        if (poll != ncclSuccess)
            return etx_nccl_fail(comm, operation, poll);
        if (result == ncclInProgress && etx_comm_now() > end)
            return fail_deadline(comm, operation);
        if (result == ncclInProgress)
            sleep_until_next_poll();
    }
    return result == ncclSuccess ? ETX_OK
                                 : etx_nccl_fail(comm, operation, result);
}

/* Until the stream is empty; a rank that died shows in NCCL's state first. */
static etx_status wait_stream(
    const struct etx_comm *comm, const char *operation, double end)
{
    const struct nccl *nccl = self(comm);
    cudaError_t error = cudaStreamQuery(nccl->stream);

    while (error == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* the next launch finds no error */
        ncclResult_t result = ncclSuccess;
        const ncclResult_t poll = ncclCommGetAsyncError(nccl->comm, &result);

        if (poll != ncclSuccess || result != ncclSuccess)
            return etx_nccl_fail(
                comm, operation, poll != ncclSuccess ? poll : result);
        if (etx_comm_now() > end)
            return fail_deadline(comm, operation);
        sleep_until_next_poll();
        error = cudaStreamQuery(nccl->stream);
    }
    return etx_nccl_check_cuda(comm, operation, error);
}

etx_status etx_nccl_finish(
    struct etx_comm *comm, const char *operation, ncclResult_t result)
{
    const double end = etx_comm_now() + comm->deadline;
    etx_status status = wait_nccl(comm, operation, result, end);

    if (status == ETX_OK)
        status = wait_stream(comm, operation, end);
    if (status != ETX_OK)
        etx_nccl_abort_kernels(self(comm));
    return status;
}
