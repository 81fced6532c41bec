/* checkop/shared_memory.c -- memory of the host, in a build without a device.
 *
 * test/cuda/shared_memory.cu replaces this file with CUDA=1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "checkop.h"

#include <stdlib.h>

const int32_t checkop_is_cuda_build = 0;

void *checkop_shared_alloc(size_t bytes)
{
    return malloc(bytes);
}

void checkop_shared_free(void *memory)
{
    free(memory);
}
