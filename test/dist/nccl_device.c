/* dist/nccl_device.c -- a rank over NCCL leaves the calling thread the context
 * of CUDA that it had, and makes none on another device:
 * cuda/dist/nccl_device.c over a stand-in for the runtime that counts
 * contexts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nccl_rank.h"

#include <stdio.h>
#include <string.h>

#include "dist/fail.h"

#define N_DEVICES 3

static int is_active[N_DEVICES]; /* a context was made */
static char contexts[N_DEVICES];
static CUcontext current; /* of contexts, or NULL */

static CUcontext context_of(int device)
{
    is_active[device] = 1;
    return (CUcontext)(void *)&contexts[device];
}

cudaError_t cudaSetDevice(int device)
{
    current = context_of(device);
    return cudaSuccess;
}

/* Without a current context, device 0 is meant. */
cudaError_t cudaGetDevice(int *device)
{
    *device = current == NULL ? 0 : (int)((char *)(void *)current - contexts);
    return cudaSuccess;
}

static CUresult get_current(CUcontext *out)
{
    *out = current;
    return CUDA_SUCCESS;
}

static CUresult set_current(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out,
    unsigned int version, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *result)
{
    CUresult (*get)(CUcontext *) = get_current;
    CUresult (*set)(CUcontext) = set_current;

    (void)version;
    (void)flags;
    *result = cudaDriverEntryPointSuccess;
    if (strcmp(name, "cuCtxGetCurrent") == 0)
        memcpy(out, &get, sizeof get);
    else if (strcmp(name, "cuCtxSetCurrent") == 0)
        memcpy(out, &set, sizeof set);
    else
        *result = cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

etx_status etx_nccl_check_cuda(
    const struct etx_comm *comm, const char *operation, cudaError_t error)
{
    (void)comm;
    (void)operation;
    return error == cudaSuccess ? ETX_OK : ETX_ERR_DEVICE;
}

/* Work on device 1 from a thread with this context. */
static int check(CUcontext before)
{
    struct nccl nccl = {.device = 1};
    struct etx_comm comm = {.self = &nccl};
    struct host_device host_device = {NULL, NULL};
    int device = -1;

    current = before;
    if (etx_nccl_use_device(&comm, &host_device) != ETX_OK ||
        cudaGetDevice(&device) != cudaSuccess || device != 1)
        return puts("nccl_device: device 1 is not current"), 1;
    etx_nccl_restore_device(host_device);
    if (current != before)
        return puts("nccl_device: another context is current than before"), 1;
    return 0;
}

int main(void)
{
    if (check(NULL) != 0)
        return 1;
    if (is_active[0])
        return puts("nccl_device: a context was made on device 0"), 1;
    return check(context_of(2));
}
