/* cuda/dist/nccl.c -- ranks with a GPU each: the operations. What is in memory
 * of the devices goes over NCCL, what is in that of the host over the transport
 * of the group that the ranks are of.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include "dist/fail.h"

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    return etx_comm_sum(self(comm)->host, values, n, type);
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    return etx_comm_gather(self(comm)->host, all, mine, count, size);
}

static etx_status all_to_all(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    return etx_comm_all_to_all(self(comm)->host, from, n_from, to, n_to, size);
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    return etx_comm_broadcast(self(comm)->host, data, n, size, root);
}

static etx_status barrier(struct etx_comm *comm)
{
    return etx_comm_barrier(self(comm)->host);
}

static int is_fine(ncclResult_t result)
{
    return result == ncclSuccess || result == ncclInProgress;
}

/* Queue the array of every owner to all ranks as one group, which ends with the
 * result of its last call. */
static ncclResult_t broadcast_slices(struct nccl *nccl, float *const *slice,
    int64_t n_values, int64_t n_slices, const int32_t *owner)
{
    ncclResult_t result = ncclGroupStart();
    ncclResult_t end;

    for (int64_t k = 0; k < n_slices && is_fine(result); k++)
        result = ncclBroadcast(slice[k], slice[k], (size_t)n_values,
            ncclFloat32, owner[k], nccl->comm, nccl->stream);
    end = ncclGroupEnd();
    return is_fine(result) ? end : result;
}

static etx_status share(struct etx_comm *comm, float *const *slice,
    int64_t n_values, int64_t n_slices, const int32_t *owner)
{
    struct host_device host_device = {NULL, NULL};
    etx_status status;

    ETX_CHECK(etx_nccl_use_device(comm, &host_device));
    ETX_CHECK(etx_nccl_finish(comm, "share",
        broadcast_slices(self(comm), slice, n_values, n_slices, owner)));
done:
    if (status != ETX_OK)
        etx_comm_abort(self(comm)->host);
    etx_nccl_restore_device(host_device);
    return status;
}

const struct etx_comm_transport etx_nccl_transport = {.name = "nccl",
    .sum = sum,
    .gather = gather,
    .all_to_all = all_to_all,
    .broadcast = broadcast,
    .share = share,
    .barrier = barrier,
    .abort_group = etx_nccl_abort,
    .end_processes = etx_nccl_end_processes,
    .close = etx_nccl_close};
