/* cuda/dist/nccl_staging.c -- buffers of the host on their way to a device and
 * back, through pinned memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include <string.h>

#include "dist/fail.h"

static struct nccl *self(const struct etx_comm *comm)
{
    return comm->self;
}

void etx_nccl_free_staging(struct staging *staging)
{
    (void)cudaFreeHost(staging->host);
    (void)cudaFree(staging->device);
    *staging = (struct staging){0, NULL, NULL};
}

etx_status etx_nccl_grow(
    struct staging *staging, const struct etx_comm *comm, size_t bytes)
{
    const size_t capacity = bytes + bytes / 2 + 4096;
    etx_status status = ETX_OK;

    if (bytes <= staging->capacity && staging->host != NULL)
        return ETX_OK;
    etx_nccl_free_staging(staging);
    ETX_CHECK(etx_nccl_check_cuda(
        comm, "pinned memory", cudaMallocHost(&staging->host, capacity)));
    ETX_CHECK(etx_nccl_check_cuda(
        comm, "device memory", cudaMalloc(&staging->device, capacity)));
    staging->capacity = capacity;
done:
    return status;
}

etx_status etx_nccl_to_device(const struct etx_comm *comm,
    struct staging *staging, const void *data, size_t bytes)
{
    etx_status status;

    ETX_CHECK(etx_nccl_grow(staging, comm, bytes));
    if (bytes == 0)
        return ETX_OK;
    memcpy(staging->host, data, bytes);
    ETX_CHECK(etx_nccl_check_cuda(comm, "copy to the device",
        cudaMemcpyAsync(staging->device, staging->host, bytes,
            cudaMemcpyHostToDevice, self(comm)->stream)));
done:
    return status;
}

etx_status etx_nccl_to_host(const struct etx_comm *comm,
    struct staging *staging, void *data, size_t bytes)
{
    etx_status status = ETX_OK;

    if (bytes == 0)
        return ETX_OK;
    ETX_CHECK(etx_nccl_check_cuda(comm, "copy from the device",
        cudaMemcpyAsync(staging->host, staging->device, bytes,
            cudaMemcpyDeviceToHost, self(comm)->stream)));
    ETX_CHECK(etx_nccl_check_cuda(comm, "copy from the device",
        cudaStreamSynchronize(self(comm)->stream)));
    memcpy(data, staging->host, bytes);
done:
    return status;
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
