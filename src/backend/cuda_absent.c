/* backend/cuda_absent.c -- the stub of cuda/backend/ in builds without CUDA.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"
#include "base/status.h"

etx_status etx_backend_cuda_open(struct etx_context *context)
{
    (void)context;
    return etx_fail(ETX_ERR_UNSUPPORTED,
        "device cuda: this build of the library has no CUDA backend");
}

void etx_backend_cuda_close(struct etx_context *context)
{
    (void)context;
}
