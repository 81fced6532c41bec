/* cuda_shim/cub/shim_scratch.h -- what the algorithms of CUB share.
 *
 * Without scratch they return how much they need; with less, or with
 * results that lie over what is read, they give up.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUB_SCRATCH_H
#define ETX_SHIM_CUB_SCRATCH_H

#include "cuda_runtime.h"
#include "shim.h"

#define SHIM_CUB_SCRATCH ((size_t)1024)

/* Whether this call only queries the size of the scratch; *error is its
 * result. */
static inline bool shim_queries_size(
    cudaError_t *error, const void *scratch, size_t *bytes, cudaStream_t stream)
{
    *error = cudaSuccess;
    if (scratch == NULL) {
        *bytes = SHIM_CUB_SCRATCH;
        return true;
    }
    if (*bytes < SHIM_CUB_SCRATCH)
        shim_abort("less scratch than needed");
    *error = shim_begin(SHIM_SORT, stream);
    return *error != cudaSuccess;
}

/* Queue work on memory of the device. */
template <typename Work> void shim_queue_cub(cudaStream_t stream, Work work)
{
    shim_queue(stream, [work]() {
        shim_enter();
        work();
        shim_leave();
    });
}

/* What is read must be reached by a device, and apart from the result. */
template <typename In, typename Out>
void shim_check_overlap(const In *in, const Out *out, int64_t n)
{
    const char *const a = reinterpret_cast<const char *>(in);
    const char *const b = reinterpret_cast<const char *>(out);

    shim_check_reach(in, (size_t)n * sizeof(In));
    if (a < b + n * (int64_t)sizeof(Out) && b < a + n * (int64_t)sizeof(In))
        shim_abort("a result lies over what is read");
}

#endif
