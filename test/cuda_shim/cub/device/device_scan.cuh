/* cuda_shim/cub/device/device_scan.cuh -- sums of all before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUB_SCAN_CUH
#define ETX_SHIM_CUB_SCAN_CUH

#include "../shim_scratch.h"

namespace cub
{

struct DeviceScan {
    template <typename T>
    static cudaError_t ExclusiveSum(void *scratch, size_t &bytes, const T *in,
        T *out, int64_t n, cudaStream_t stream)
    {
        cudaError_t error;

        if (shim_queries_size(&error, scratch, &bytes, stream))
            return error;
        shim_check_overlap(in, out, n);
        shim_queue_cub(stream, [=]() {
            T sum = 0;

            for (int64_t i = 0; i < n; i++) {
                out[i] = sum;
                sum += in[i];
            }
        });
        return cudaSuccess;
    }
};

} // namespace cub

#endif
