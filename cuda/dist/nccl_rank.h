/* cuda/dist/nccl_rank.h -- declarations shared by the files of the NCCL
 * transport.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_DIST_NCCL_RANK_H
#define ETX_CUDA_DIST_NCCL_RANK_H

#include "dist/comm.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

struct nccl {
    ncclComm_t comm;       /* NULL once aborted */
    struct etx_comm *host; /* of the same ranks; not owned */
    int device;            /* -1: none yet */
    cudaStream_t stream;
};

/* ETX_OK, or the failure that error stands for; `operation` names it. */
etx_status etx_nccl_check_cuda(
    const struct etx_comm *comm, const char *operation, cudaError_t error);
/* The failure that result stands for. */
etx_status etx_nccl_fail(
    const struct etx_comm *comm, const char *operation, ncclResult_t result);

/* End kernels that wait for ranks which do not arrive. */
void etx_nccl_abort_kernels(struct nccl *nccl);
/* Wait for the queued operation; result is what the queueing call returned. On
 * failure the communicator is aborted. */
etx_status etx_nccl_finish(
    struct etx_comm *comm, const char *operation, ncclResult_t result);

/* What was current in the calling thread: a context of CUDA, or none. Setting
 * its device, in place of it, would make a context on that device. */
struct host_device {
    CUcontext context;
    CUresult (*set)(CUcontext); /* NULL: there is nothing to restore */
};

/* Make this rank's device current. *host_device, {NULL, NULL} before, is for
 * etx_nccl_restore_device. */
etx_status etx_nccl_use_device(
    const struct etx_comm *comm, struct host_device *host_device);
void etx_nccl_restore_device(struct host_device host_device);

/* The operations (nccl.c), and the functions that end a group (nccl_open.c). */
extern const struct etx_comm_transport etx_nccl_transport;
void etx_nccl_close(struct etx_comm *comm);
void etx_nccl_abort(struct etx_comm *comm);
void etx_nccl_end_processes(struct etx_comm *comm, int32_t exit_status);

#endif
