/* cuda_shim/nccl.h -- the part of NCCL that cuda/dist uses, between threads of
 * this process: see nccl.cpp.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_NCCL_H
#define ETX_SHIM_NCCL_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shim_rank *ncclComm_t;

typedef enum {
    ncclSuccess = 0,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
} ncclResult_t;

typedef enum { ncclFloat32 = 7 } ncclDataType_t;

typedef struct {
    int64_t number;
} ncclUniqueId;

typedef struct {
    int blocking;
} ncclConfig_t;
#define NCCL_CONFIG_INITIALIZER                                                \
    {                                                                          \
        1                                                                      \
    }

const char *ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n_ranks,
    ncclUniqueId id, int rank, ncclConfig_t *config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclBroadcast(const void *from, void *to, size_t n,
    ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
