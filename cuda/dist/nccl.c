/* cuda/dist/nccl.c -- ranks with a GPU each, over NCCL.
 *
 * The communicator is non-blocking: a call returns at once, and this thread
 * polls NCCL's own state and that of the stream until both are done or the
 * deadline has passed. Whatever goes wrong, the communicator is aborted, which
 * frees the kernels that wait for ranks that do not come. Buffers of the host
 * are staged through pinned memory.
 *
 * Source: NCCL User Guide, "Fault Tolerance".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dist/fail.h"

#define NAP_NANOSECONDS 20000

/* A pinned array of the host and its twin on the device. */
struct staging {
    size_t capacity;
    void *host, *device;
};

struct nccl {
    ncclComm_t comm;       /* NULL once aborted */
    struct etx_comm *host; /* whose ranks these are; not owned */
    int device; /* -1: none yet */
    cudaStream_t stream;
    struct staging in, out;
};

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

/* -------------------------------------------------------------- failures -- */

static etx_status check_cuda(
    const struct etx_comm *comm, const char *operation, cudaError_t error)
{
    if (error == cudaSuccess)
        return ETX_OK;
    return etx_dist_fail(
        error == cudaErrorMemoryAllocation ? ETX_ERR_MEMORY : ETX_ERR_DEVICE,
        "rank %d: %s: %s", (int)comm->rank, operation,
        cudaGetErrorString(error));
}

static etx_status say_nccl(
    const struct etx_comm *comm, const char *operation, ncclResult_t result)
{
    return etx_dist_fail(
        result == ncclRemoteError ? ETX_ERR_IO : ETX_ERR_DEVICE,
        "rank %d: %s: NCCL: %s", (int)comm->rank, operation,
        ncclGetErrorString(result));
}

static etx_status say_late(const struct etx_comm *comm, const char *operation)
{
    return etx_dist_fail(ETX_ERR_IO,
        "rank %d: %s: %lld ms have passed and not all of %d ranks are there",
        (int)comm->rank, operation, (long long)(comm->deadline * 1e3),
        (int)comm->n_ranks);
}

static void abort_nccl(struct nccl *nccl)
{
    if (nccl->comm != NULL)
        (void)ncclCommAbort(nccl->comm);
    nccl->comm = NULL;
}

/* ------------------------------------------------------------------ waits -- */

static void nap(void)
{
    const struct timespec time = {0, NAP_NANOSECONDS};

    (void)nanosleep(&time, NULL);
}

/* Until NCCL has done what a call that gave `result` asked for. */
static etx_status wait_nccl(const struct etx_comm *comm,
    const char *operation, ncclResult_t result, double end)
{
    while (result == ncclInProgress) {
        const ncclResult_t asked =
            ncclCommGetAsyncError(self(comm)->comm, &result);

        if (asked != ncclSuccess)
            return say_nccl(comm, operation, asked);
        if (result == ncclInProgress && etx_comm_now() > end)
            return say_late(comm, operation);
        if (result == ncclInProgress)
            nap();
    }
    return result == ncclSuccess ? ETX_OK : say_nccl(comm, operation, result);
}

/* Until the stream is empty; a rank that died shows in NCCL's state first. */
static etx_status wait_stream(
    const struct etx_comm *comm, const char *operation, double end)
{
    const struct nccl *nccl = self(comm);
    cudaError_t error = cudaStreamQuery(nccl->stream);

    while (error == cudaErrorNotReady) {
        ncclResult_t result = ncclSuccess;
        const ncclResult_t asked = ncclCommGetAsyncError(nccl->comm, &result);

        if (asked != ncclSuccess || result != ncclSuccess)
            return say_nccl(
                comm, operation, asked != ncclSuccess ? asked : result);
        if (etx_comm_now() > end)
            return say_late(comm, operation);
        nap();
        error = cudaStreamQuery(nccl->stream);
    }
    return check_cuda(comm, operation, error);
}

/* What was queued is done, or the communicator is gone. */
static etx_status finish(
    struct etx_comm *comm, const char *operation, ncclResult_t result)
{
    const double end = etx_comm_now() + comm->deadline;
    etx_status status = wait_nccl(comm, operation, result, end);

    if (status == ETX_OK)
        status = wait_stream(comm, operation, end);
    if (status != ETX_OK)
        abort_nccl(self(comm));
    return status;
}

/* ---------------------------------------------------------------- staging -- */

static void free_staging(struct staging *staging)
{
    (void)cudaFreeHost(staging->host);
    (void)cudaFree(staging->device);
    *staging = (struct staging){0, NULL, NULL};
}

static etx_status grow(
    struct staging *staging, const struct etx_comm *comm, size_t bytes)
{
    const size_t capacity = bytes + bytes / 2 + 4096;
    etx_status status = ETX_OK;

    if (bytes <= staging->capacity && staging->host != NULL)
        return ETX_OK;
    free_staging(staging);
    ETX_CHECK(check_cuda(comm, "pinned memory",
        cudaMallocHost(&staging->host, capacity)));
    ETX_CHECK(check_cuda(comm, "device memory",
        cudaMalloc(&staging->device, capacity)));
    staging->capacity = capacity;
done:
    return status;
}

/* Queue the way of data to the device. */
static etx_status put(const struct etx_comm *comm, struct staging *staging,
    const void *data, size_t bytes)
{
    etx_status status;

    ETX_CHECK(grow(staging, comm, bytes));
    if (bytes == 0)
        return ETX_OK;
    memcpy(staging->host, data, bytes);
    ETX_CHECK(check_cuda(comm, "copy to the device",
        cudaMemcpyAsync(staging->device, staging->host, bytes,
            cudaMemcpyHostToDevice, self(comm)->stream)));
done:
    return status;
}

/* Copy what an operation left; nothing else is in the stream. */
static etx_status get(const struct etx_comm *comm, struct staging *staging,
    void *data, size_t bytes)
{
    etx_status status = ETX_OK;

    if (bytes == 0)
        return ETX_OK;
    ETX_CHECK(check_cuda(comm, "copy from the device",
        cudaMemcpyAsync(staging->host, staging->device, bytes,
            cudaMemcpyDeviceToHost, self(comm)->stream)));
    ETX_CHECK(check_cuda(comm, "copy from the device",
        cudaStreamSynchronize(self(comm)->stream)));
    memcpy(data, staging->host, bytes);
done:
    return status;
}

/* Threads of a host may have another device of their own, which *of_host keeps
 * until leave_device; -1: none. */
static etx_status use_device(const struct etx_comm *comm, int *of_host)
{
    if (cudaGetDevice(of_host) != cudaSuccess)
        *of_host = -1;
    return check_cuda(comm, "device", cudaSetDevice(self(comm)->device));
}

static void leave_device(int of_host)
{
    if (of_host >= 0)
        (void)cudaSetDevice(of_host);
}

/* ------------------------------------------------------------- operations -- */

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    static const ncclDataType_t types[] = {
        [ETX_COMM_F32] = ncclFloat32,
        [ETX_COMM_F64] = ncclFloat64,
        [ETX_COMM_I64] = ncclInt64,
    };
    struct nccl *nccl = self(comm);
    const size_t bytes = (size_t)n * (type == ETX_COMM_F32 ? 4 : 8);
    int of_host = -1;
    etx_status status;

    ETX_CHECK(use_device(comm, &of_host));
    ETX_CHECK(put(comm, &nccl->in, values, bytes));
    ETX_CHECK(finish(comm, "sum",
        ncclAllReduce(nccl->in.device, nccl->in.device, (size_t)n, types[type],
            ncclSum, nccl->comm, nccl->stream)));
    ETX_CHECK(get(comm, &nccl->in, values, bytes));
done:
    leave_device(of_host);
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

/* Queue the piece for every rank and that from every rank as one group. */
static ncclResult_t send_pieces(const struct etx_comm *comm,
    const size_t *n_from, const size_t *n_to)
{
    struct nccl *nccl = self(comm);
    const char *from = nccl->out.device;
    char *to = nccl->in.device;
    ncclResult_t result = ncclGroupStart();

    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (n_to[r] > 0 && is_fine(result))
            result = ncclSend(
                from, n_to[r], ncclInt8, r, nccl->comm, nccl->stream);
        if (n_from[r] > 0 && is_fine(result))
            result = ncclRecv(
                to, n_from[r], ncclInt8, r, nccl->comm, nccl->stream);
        from += n_to[r];
        to += n_from[r];
    }
    if (is_fine(result))
        result = ncclGroupEnd();
    else
        (void)ncclGroupEnd();
    return result;
}

/* Bytes of the pieces of all ranks: out [n_ranks]. */
static void scale(
    size_t *out, const int64_t *count, int32_t n_ranks, size_t size)
{
    for (int32_t r = 0; r < n_ranks; r++)
        out[r] = (size_t)count[r] * size;
}

static etx_status exchange(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    struct nccl *nccl = self(comm);
    const size_t bytes_in = count_bytes(n_from, comm->n_ranks, size);
    const size_t bytes_out = count_bytes(n_to, comm->n_ranks, size);
    size_t *piece = NULL; /* [2, n_ranks] */
    int of_host = -1;
    etx_status status;

    ETX_CHECK(etx_dist_alloc(
        &piece, 2 * (int64_t)comm->n_ranks, sizeof *piece, "pieces"));
    scale(piece, n_from, comm->n_ranks, size);
    scale(piece + comm->n_ranks, n_to, comm->n_ranks, size);
    ETX_CHECK(use_device(comm, &of_host));
    ETX_CHECK(grow(&nccl->in, comm, bytes_in));
    ETX_CHECK(put(comm, &nccl->out, to, bytes_out));
    ETX_CHECK(finish(comm, "exchange",
        send_pieces(comm, piece, piece + comm->n_ranks)));
    ETX_CHECK(get(comm, &nccl->in, from, bytes_in));
done:
    leave_device(of_host);
    free(piece);
    return status;
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    const int64_t own = count[comm->rank];
    const size_t bytes = (size_t)own * size;
    int64_t *n_to = NULL;
    char *copies = NULL;
    etx_status status;

    ETX_CHECK(
        etx_dist_alloc(&n_to, comm->n_ranks, sizeof *n_to, "pieces"));
    ETX_CHECK(etx_dist_alloc(
        &copies, own * comm->n_ranks, size, "copies of a piece"));
    for (int32_t r = 0; r < comm->n_ranks; r++) {
        n_to[r] = own;
        if (own > 0)
            memcpy(copies + (size_t)r * bytes, mine, bytes);
    }
    ETX_CHECK(exchange(comm, all, count, copies, n_to, size));
done:
    free(n_to);
    free(copies);
    return status;
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    struct nccl *nccl = self(comm);
    const size_t bytes = (size_t)n * size;
    int of_host = -1;
    etx_status status;

    ETX_CHECK(use_device(comm, &of_host));
    ETX_CHECK(put(comm, &nccl->in, data, bytes));
    ETX_CHECK(finish(comm, "broadcast",
        ncclBroadcast(nccl->in.device, nccl->in.device, bytes, ncclInt8, root,
            nccl->comm, nccl->stream)));
    ETX_CHECK(get(comm, &nccl->in, data, bytes));
done:
    leave_device(of_host);
    return status;
}

static etx_status barrier(struct etx_comm *comm)
{
    int64_t here = 1;

    return sum(comm, &here, 1, ETX_COMM_I64);
}

/* -------------------------------------------------------- open and close -- */

static void release(struct nccl *nccl)
{
    abort_nccl(nccl);
    free_staging(&nccl->in);
    free_staging(&nccl->out);
    if (nccl->stream != NULL)
        (void)cudaStreamDestroy(nccl->stream);
}

/* Without the device that it asked for a rank has nothing to release. */
static void close_nccl(struct etx_comm *comm)
{
    struct nccl *nccl = self(comm);
    int of_host = -1;

    if (nccl->device >= 0 && use_device(comm, &of_host) == ETX_OK) {
        if (!comm->is_broken && nccl->comm != NULL &&
            finish(comm, "close", ncclCommFinalize(nccl->comm)) == ETX_OK) {
            (void)ncclCommDestroy(nccl->comm);
            nccl->comm = NULL;
        }
        release(nccl);
    }
    leave_device(of_host);
    free(nccl);
}

static void give_up(struct etx_comm *comm)
{
    int of_host = -1;

    if (use_device(comm, &of_host) == ETX_OK)
        abort_nccl(self(comm));
    leave_device(of_host);
}

/* The processes are those of the host's transport. */
static void end_processes(struct etx_comm *comm, int32_t exit_status)
{
    struct etx_comm *host = self(comm)->host;

    etx_comm_give_up(host);
    if (host->transport->end_processes != NULL)
        host->transport->end_processes(host, exit_status);
}

static const struct etx_comm_transport transport = {.name = "nccl",
    .sum = sum,
    .gather = gather,
    .exchange = exchange,
    .broadcast = broadcast,
    .barrier = barrier,
    .give_up = give_up,
    .end_processes = end_processes,
    .close = close_nccl};

/* What rank 0 tells all over the host's transport. */
struct start {
    ncclUniqueId id;
    ncclResult_t result; /* of making it */
};

/* Rank 0's id reaches all, or that it has none; then all meet. */
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
        return say_nccl(comm, "start of rank 0", start.result);
    ETX_CHECK(finish(comm, "start",
        ncclCommInitRankConfig(&nccl->comm, comm->n_ranks, start.id,
            comm->rank, &config)));
done:
    return status;
}

/* The device that this rank asked for, current from now on. */
static etx_status find_device(
    struct etx_comm *comm, int32_t device, int *of_host)
{
    int n_devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&n_devices);

    if (error != cudaSuccess || device < 0 || device >= n_devices)
        return etx_dist_fail(ETX_ERR_UNSUPPORTED,
            "rank %d: no CUDA device %d: %s", (int)comm->rank, (int)device,
            error != cudaSuccess ? cudaGetErrorString(error)
                                 : "there are fewer");
    self(comm)->device = device;
    return use_device(comm, of_host);
}

static etx_status make_stream(struct etx_comm *comm)
{
    return check_cuda(comm, "stream",
        cudaStreamCreateWithFlags(
            &self(comm)->stream, cudaStreamNonBlocking));
}

/* Whether all ranks have theirs, before anyone waits; status is this one's. */
static etx_status agree(struct etx_comm *comm, etx_status status)
{
    int64_t n_failed = status != ETX_OK;
    const etx_status sum =
        etx_comm_sum(self(comm)->host, &n_failed, 1, ETX_COMM_I64);

    if (status != ETX_OK)
        return status;
    if (sum != ETX_OK || n_failed == 0)
        return sum;
    return etx_dist_fail(ETX_ERR_CANCELLED,
        "rank %d: %lld of %d ranks have no device", (int)comm->rank,
        (long long)n_failed, (int)comm->n_ranks);
}

static etx_status join(struct etx_comm *comm, int32_t device)
{
    char message[512];
    int of_host = -1;
    etx_status status = find_device(comm, device, &of_host);

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
    leave_device(of_host);
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
        &comm, &transport, nccl, host->rank, host->n_ranks, deadline));
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
