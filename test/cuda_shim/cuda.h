/* cuda_shim/cuda.h -- the part of the CUDA driver that cuda/ uses, on the CPU:
 * which context is current in a thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUDA_H
#define ETX_SHIM_CUDA_H

#define CUDA_VERSION 13000

typedef enum cudaError_enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_INVALID_DEVICE = 101
} CUresult;

typedef int CUdevice;
typedef struct shim_context *CUcontext;

#endif
