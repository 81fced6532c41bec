/* cuda/backend/process.h -- what the process has of CUDA, for all contexts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_PROCESS_H
#define ETX_CUDA_BACKEND_PROCESS_H

extern "C" {
#include "base/status.h"
}

#include <cublasLt.h>
#include <cuda.h>

#define ETX_BLAS_FUNCTIONS(X)                                                  \
    X(cublasLtGetStatusString)                                                 \
    X(cublasLtCreate)                                                          \
    X(cublasLtDestroy)                                                         \
    X(cublasLtMatmulDescCreate)                                                \
    X(cublasLtMatmulDescDestroy)                                               \
    X(cublasLtMatmulDescSetAttribute)                                          \
    X(cublasLtMatrixLayoutCreate)                                              \
    X(cublasLtMatrixLayoutDestroy)                                             \
    X(cublasLtMatmulPreferenceCreate)                                          \
    X(cublasLtMatmulPreferenceDestroy)                                         \
    X(cublasLtMatmulPreferenceSetAttribute)                                    \
    X(cublasLtMatmulAlgoGetHeuristic)                                          \
    X(cublasLtMatmul)

/* Functions of cuBLASLt by their names there. */
struct etx_blas {
#define ETX_BLAS_MEMBER(name) decltype(&::name) name;
    ETX_BLAS_FUNCTIONS(ETX_BLAS_MEMBER)
#undef ETX_BLAS_MEMBER
};
extern struct etx_blas etx_blas; /* once etx_cuda_load_blas is ETX_OK */

/* Load cuBLASLt, unless it is loaded: hundreds of megabytes that programs on
 * the CPU do without. ETX_ERR_DEVICE with the loader's text. */
etx_status etx_cuda_load_blas(void);

/* Keep a reference to the primary context of the device until the process ends,
 * with the driver's function that retains one: where the program uses CUDA
 * through this library alone, its last etx_context_free would destroy that
 * context, and the next etx_context take some tenths of a second to make it. */
CUresult etx_cuda_keep_context(
    CUdevice device, CUresult (*retain)(CUcontext *, CUdevice));

#endif
