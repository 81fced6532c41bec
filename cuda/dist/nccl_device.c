/* cuda/dist/nccl_device.c -- the device of a rank, current in the calling
 * thread for as long as an operation takes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include <string.h>

#include "dist/fail.h"

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

/* A function of the driver, which is loaded with the runtime, not linked. */
static cudaError_t find(void *out, const char *name)
{
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    void *address = NULL;
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        name, &address, CUDA_VERSION, cudaEnableDefault, &result);

    if (error != cudaSuccess)
        return error;
    if (result != cudaDriverEntryPointSuccess)
        return cudaErrorSymbolNotFound;
    memcpy(out, &address, sizeof address);
    return cudaSuccess;
}

etx_status etx_nccl_use_device(
    const struct etx_comm *comm, struct host_device *host_device)
{
    CUresult (*get)(CUcontext *) = NULL;
    struct host_device host = {NULL, NULL};
    etx_status status;

    ETX_CHECK(
        etx_nccl_check_cuda(comm, "driver", find(&get, "cuCtxGetCurrent")));
    ETX_CHECK(etx_nccl_check_cuda(
        comm, "driver", find(&host.set, "cuCtxSetCurrent")));
    if (get(&host.context) == CUDA_SUCCESS)
        *host_device = host;
    ETX_CHECK(
        etx_nccl_check_cuda(comm, "device", cudaSetDevice(self(comm)->device)));
done:
    return status;
}

void etx_nccl_restore_device(struct host_device host_device)
{
    if (host_device.set != NULL)
        (void)host_device.set(host_device.context);
}
