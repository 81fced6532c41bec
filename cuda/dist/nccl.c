/* cuda/dist/nccl.c -- ranks with a GPU each, over NCCL: the operations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include <stdlib.h>

#include "dist/fail.h"

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    static const ncclDataType_t types[] = {
        [ETX_COMM_F32] = ncclFloat32,
        [ETX_COMM_F64] = ncclFloat64,
        [ETX_COMM_I64] = ncclUint64,
    };
    struct nccl *nccl = self(comm);
    const size_t bytes = (size_t)n * (type == ETX_COMM_F32 ? 4 : 8);
    struct host_device host_device = {NULL, NULL};
    etx_status status;

    ETX_CHECK(etx_nccl_use_device(comm, &host_device));
    ETX_CHECK(etx_nccl_to_device(comm, &nccl->in, values, bytes));
    ETX_CHECK(etx_nccl_finish(comm, "sum",
        ncclAllReduce(nccl->in.device, nccl->in.device, (size_t)n, types[type],
            ncclSum, nccl->comm, nccl->stream)));
    ETX_CHECK(etx_nccl_to_host(comm, &nccl->in, values, bytes));
done:
    etx_nccl_restore_device(host_device);
    return status;
}

static size_t count_bytes(const int64_t *count, int32_t n, size_t size)
{
    size_t bytes = 0;

    for (int32_t r = 0; r < n; r++)
        bytes += (size_t)count[r] * size;
    return bytes;
}

static int is_fine(ncclResult_t result)
{
    return result == ncclSuccess || result == ncclInProgress;
}

/* A group of calls ends with the result of the last one. */
static ncclResult_t end_group(ncclResult_t result)
{
    const ncclResult_t end = ncclGroupEnd();

    return is_fine(result) ? end : result;
}

/* Queue the piece for every rank and that from every rank as one group. */
static ncclResult_t send_pieces(
    const struct etx_comm *comm, const size_t *n_from, const size_t *n_to)
{
    struct nccl *nccl = self(comm);
    const char *from = nccl->out.device;
    char *to = nccl->in.device;
    ncclResult_t result = ncclGroupStart();

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (n_to[r] > 0 && is_fine(result))
            result =
                ncclSend(from, n_to[r], ncclInt8, r, nccl->comm, nccl->stream);
        if (n_from[r] > 0 && is_fine(result))
            result =
                ncclRecv(to, n_from[r], ncclInt8, r, nccl->comm, nccl->stream);
        from += n_to[r];
        to += n_from[r];
    }
    return end_group(result);
}

/* Bytes of the pieces of all ranks: out [n_ranks]. */
static void scale(
    size_t *out, const int64_t *count, int32_t n_ranks, size_t size)
{
    for (int32_t r = 0; r < n_ranks; r++)
        out[r] = (size_t)count[r] * size;
}

static etx_status all_to_all(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    struct nccl *nccl = self(comm);
    const size_t bytes_in = count_bytes(n_from, comm->n_ranks, size);
    const size_t bytes_out = count_bytes(n_to, comm->n_ranks, size);
    size_t *piece = NULL; /* [2, n_ranks] */
    struct host_device host_device = {NULL, NULL};
    etx_status status;

    ETX_CHECK(etx_dist_alloc(
        &piece, 2 * (int64_t)comm->n_ranks, sizeof *piece, "pieces"));
    scale(piece, n_from, comm->n_ranks, size);
    scale(piece + comm->n_ranks, n_to, comm->n_ranks, size);
    ETX_CHECK(etx_nccl_use_device(comm, &host_device));
    ETX_CHECK(etx_nccl_grow(&nccl->in, comm, bytes_in));
    ETX_CHECK(etx_nccl_to_device(comm, &nccl->out, to, bytes_out));
    ETX_CHECK(etx_nccl_finish(
        comm, "all-to-all", send_pieces(comm, piece, piece + comm->n_ranks)));
    ETX_CHECK(etx_nccl_to_host(comm, &nccl->in, from, bytes_in));
done:
    etx_nccl_restore_device(host_device);
    free(piece);
    return status;
}

/* Queue the piece of every rank to all ranks as one group. */
static ncclResult_t broadcast_pieces(
    const struct etx_comm *comm, const int64_t *count, size_t size)
{
    struct nccl *nccl = self(comm);
    char *to = nccl->in.device;
    ncclResult_t result = ncclGroupStart();

    for (int32_t r = 0; r < comm->n_ranks && is_fine(result); r++) {
        const size_t bytes = (size_t)count[r] * size;

        if (bytes > 0)
            result = ncclBroadcast(nccl->out.device, to, bytes, ncclInt8, r,
                nccl->comm, nccl->stream);
        to += bytes;
    }
    return end_group(result);
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    struct nccl *nccl = self(comm);
    const size_t bytes = count_bytes(count, comm->n_ranks, size);
    struct host_device host_device = {NULL, NULL};
    etx_status status;

    ETX_CHECK(etx_nccl_use_device(comm, &host_device));
    ETX_CHECK(etx_nccl_grow(&nccl->in, comm, bytes));
    ETX_CHECK(etx_nccl_to_device(
        comm, &nccl->out, mine, (size_t)count[comm->rank] * size));
    ETX_CHECK(
        etx_nccl_finish(comm, "gather", broadcast_pieces(comm, count, size)));
    ETX_CHECK(etx_nccl_to_host(comm, &nccl->in, all, bytes));
done:
    etx_nccl_restore_device(host_device);
    return status;
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    struct nccl *nccl = self(comm);
    const size_t bytes = (size_t)n * size;
    struct host_device host_device = {NULL, NULL};
    etx_status status;

    ETX_CHECK(etx_nccl_use_device(comm, &host_device));
    ETX_CHECK(etx_nccl_to_device(comm, &nccl->in, data, bytes));
    ETX_CHECK(etx_nccl_finish(comm, "broadcast",
        ncclBroadcast(nccl->in.device, nccl->in.device, bytes, ncclInt8, root,
            nccl->comm, nccl->stream)));
    ETX_CHECK(etx_nccl_to_host(comm, &nccl->in, data, bytes));
done:
    etx_nccl_restore_device(host_device);
    return status;
}

/* Queue the array of every owner to all ranks as one group. */
static ncclResult_t broadcast_slices(struct nccl *nccl, float *const *slice,
    int64_t n_values, int64_t n_slices, const int32_t *owner)
{
    ncclResult_t result = ncclGroupStart();

    for (int64_t k = 0; k < n_slices && is_fine(result); k++)
        result = ncclBroadcast(slice[k], slice[k], (size_t)n_values,
            ncclFloat32, owner[k], nccl->comm, nccl->stream);
    return end_group(result);
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
    etx_nccl_restore_device(host_device);
    return status;
}

static etx_status barrier(struct etx_comm *comm)
{
    int64_t one = 1;

    return sum(comm, &one, 1, ETX_COMM_I64);
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
