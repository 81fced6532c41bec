/* cuda/shared_memory.cu -- memory that the host and a device both reach.
 *
 * Pinned memory has the same address on both, so that an operator on a device
 * works on the arrays of a test as they are. Without a device there is nobody
 * to share with.
 *
 * SPDX-License-Identifier: Apache-2.0 */
extern "C" {
#include "checkop.h"
}

#include <cuda_runtime.h>

#include <stdlib.h>

extern "C" const int32_t checkop_is_cuda_build = 1;

static bool has_device(void)
{
    int n_devices = 0;

    return cudaGetDeviceCount(&n_devices) == cudaSuccess && n_devices > 0;
}

extern "C" void *checkop_shared_alloc(size_t bytes)
{
    void *memory = NULL;

    if (!has_device())
        return malloc(bytes);
    return cudaMallocHost(&memory, bytes) == cudaSuccess ? memory : NULL;
}

extern "C" void checkop_shared_free(void *memory)
{
    if (has_device())
        (void)cudaFreeHost(memory);
    else
        free(memory);
}
