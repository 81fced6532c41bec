/* cuda_shim/cuda/backend/mma.cuh -- tile products on the CPU, instead of
 * cuda/backend/mma.cuh, whose comment says who holds what.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_MMA_CUH
#define ETX_CUDA_BACKEND_MMA_CUH

#include <cuda_runtime.h>

#define ETX_UNROLL
#define ETX_KEEP_LOOP

/* The whole warp must come here; sums in float32, by k. */
void etx_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]);

uint4 *etx_shared_memory();

#endif
