/* cuda/dist/nccl_rank.h -- what the files of the NCCL transport share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_DIST_NCCL_RANK_H
#define ETX_CUDA_DIST_NCCL_RANK_H

#include "dist/comm.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

/* A pinned array of the host and its twin on the device. */
struct staging {
    size_t capacity;
    void *host, *device;
};

struct nccl {
    ncclComm_t comm;       /* NULL once aborted */
    struct etx_comm *host; /* whose ranks these are; not owned */
    int device;            /* -1: none yet */
    cudaStream_t stream;
    struct staging in, out;
};

/* ETX_OK, or the failure that error stands for; `operation` names it. */
etx_status etx_nccl_check_cuda(
    const struct etx_comm *comm, const char *operation, cudaError_t error);
/* The failure that result stands for. */
etx_status etx_nccl_say(
    const struct etx_comm *comm, const char *operation, ncclResult_t result);

/* Frees the kernels that wait for ranks that do not come. */
void etx_nccl_abort(struct nccl *nccl);
/* Until what was queued, by a call that gave `result`, is done; else the
 * communicator is gone. */
etx_status etx_nccl_finish(
    struct etx_comm *comm, const char *operation, ncclResult_t result);

/* Room for so many bytes on both sides. */
etx_status etx_nccl_grow(
    struct staging *staging, const struct etx_comm *comm, size_t bytes);
void etx_nccl_free_staging(struct staging *staging);
/* Queue the way of data to the device. */
etx_status etx_nccl_put(const struct etx_comm *comm, struct staging *staging,
    const void *data, size_t bytes);
/* Copy what an operation left; nothing else is in the stream. */
etx_status etx_nccl_get(const struct etx_comm *comm, struct staging *staging,
    void *data, size_t bytes);

/* Threads of a host may have another device of their own, which *of_host keeps
 * until etx_nccl_leave_device; -1: none. */
etx_status etx_nccl_use_device(const struct etx_comm *comm, int *of_host);
void etx_nccl_leave_device(int of_host);

/* The operations, in nccl.c, and what end a group, in nccl_open.c. */
extern const struct etx_comm_transport etx_nccl_transport;
void etx_nccl_close(struct etx_comm *comm);
void etx_nccl_give_up(struct etx_comm *comm);
void etx_nccl_end_processes(struct etx_comm *comm, int32_t exit_status);

#endif
