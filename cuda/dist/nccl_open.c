/* cuda/dist/nccl_open.c -- open and close the NCCL communicator.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/fail.h"

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

static void release(struct nccl *nccl)
{
    etx_nccl_abort_kernels(nccl);
    if (nccl->stream != NULL)
        (void)cudaStreamDestroy(nccl->stream);
}

/* A rank without its device has nothing to release. */
void etx_nccl_close(struct etx_comm *comm)
{
    struct nccl *nccl = self(comm);
    struct host_device host_device = {NULL, NULL};

    if (nccl->device >= 0 &&
        etx_nccl_use_device(comm, &host_device) == ETX_OK) {
        if (!comm->is_broken && nccl->comm != NULL &&
            etx_nccl_finish(comm, "close", ncclCommFinalize(nccl->comm)) ==
                ETX_OK) {
            (void)ncclCommDestroy(nccl->comm);
            nccl->comm = NULL;
        }
        release(nccl);
    }
    etx_nccl_restore_device(host_device);
    free(nccl);
}

void etx_nccl_abort(struct etx_comm *comm)
{
    struct host_device host_device = {NULL, NULL};

    if (etx_nccl_use_device(comm, &host_device) == ETX_OK)
        etx_nccl_abort_kernels(self(comm));
    etx_nccl_restore_device(host_device);
    etx_comm_abort(self(comm)->host);
}

/* The host's transport ends the processes. */
void etx_nccl_end_processes(struct etx_comm *comm, int32_t exit_status)
{
    struct etx_comm *host = self(comm)->host;

    if (host->transport->end_processes != NULL)
        host->transport->end_processes(host, exit_status);
}

/* What rank 0 broadcasts over the host's transport. */
struct start {
    ncclUniqueId id;
    ncclResult_t result; /* of making it */
};

/* Broadcast rank 0's id, or that it has none; then all ranks connect. */
static etx_status meet(struct etx_comm *comm)
{
    struct nccl *nccl = self(comm);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    struct start start;
    etx_status status;

    memset(&start, 0, sizeof start);
    config.blocking = 0;
    if (comm->rank == 0)
        start.result = ncclGetUniqueId(&start.id);
    ETX_CHECK(etx_comm_broadcast(nccl->host, &start, 1, sizeof start, 0));
    if (start.result != ncclSuccess)
        return etx_nccl_fail(comm, "start of rank 0", start.result);
    ETX_CHECK(etx_nccl_finish(comm, "start",
        ncclCommInitRankConfig(
            &nccl->comm, comm->n_ranks, start.id, comm->rank, &config)));
done:
    return status;
}

/* Make the requested device current. */
static etx_status find_device(
    struct etx_comm *comm, int32_t device, struct host_device *host_device)
{
    int n_devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&n_devices);

    if (error != cudaSuccess || device < 0 || device >= n_devices)
        return etx_dist_fail(ETX_ERR_UNSUPPORTED,
            "rank %d: no CUDA device %d: %s", (int)comm->rank, (int)device,
            error != cudaSuccess ? cudaGetErrorString(error)
                                 : "there are fewer");
    self(comm)->device = device;
    return etx_nccl_use_device(comm, host_device);
}

static etx_status make_stream(struct etx_comm *comm)
{
    return etx_nccl_check_cuda(comm, "stream",
        cudaStreamCreateWithFlags(&self(comm)->stream, cudaStreamNonBlocking));
}

/* Check that every rank has its device before any rank waits; status is this
 * rank's. */
static etx_status agree(struct etx_comm *comm, etx_status status)
{
    int64_t n_failed = status != ETX_OK;
    const etx_status sum =
        etx_comm_sum(self(comm)->host, &n_failed, 1, ETX_COMM_I64);

    if (status != ETX_OK)
        return status;
    if (sum != ETX_OK || n_failed == 0)
        return sum;
    return etx_dist_fail(ETX_ERR_RANK,
        "rank %d: %lld of %d ranks have no device", (int)comm->rank,
        (long long)n_failed, (int)comm->n_ranks);
}

static etx_status join(struct etx_comm *comm, int32_t device)
{
    char message[512];
    struct host_device host_device = {NULL, NULL};
    etx_status status = find_device(comm, device, &host_device);

    if (status == ETX_OK)
        status = make_stream(comm);
    (void)snprintf(message, sizeof message, "%s", etx_last_error());
    if (status != ETX_OK) {
        (void)agree(comm, status);
        etx_set_last_error(message);
        goto done;
    }
    ETX_CHECK(agree(comm, ETX_OK));
    ETX_CHECK(meet(comm));
done:
    etx_nccl_restore_device(host_device);
    return status;
}

etx_status etx_comm_open_nccl(struct etx_comm **out, struct etx_comm *host,
    int32_t device, double deadline)
{
    struct nccl *nccl = NULL;
    struct etx_comm *comm = NULL;
    etx_status status;

    ETX_CHECK(etx_dist_alloc(&nccl, 1, sizeof *nccl, "an NCCL rank"));
    nccl->host = host;
    nccl->device = -1;
    ETX_CHECK(etx_comm_create(
        &comm, &etx_nccl_transport, nccl, host->rank, host->n_ranks, deadline));
    nccl = NULL;
    ETX_CHECK(join(comm, device));
    *out = comm;
    comm = NULL;
done:
    etx_comm_close(comm);
    free(nccl);
    return status;
}

int32_t etx_comm_has_nccl(void)
{
    return 1;
}
