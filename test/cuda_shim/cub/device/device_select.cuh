/* cuda_shim/cub/device/device_select.cuh -- what is flagged, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUB_SELECT_CUH
#define ETX_SHIM_CUB_SELECT_CUH

#include "../shim_scratch.h"

namespace cub
{

struct DeviceSelect {
    template <typename In, typename Flag, typename Out, typename Count>
    static cudaError_t Flagged(void *scratch, size_t &bytes, In in,
        const Flag *flag, Out *out, Count *count, int64_t n,
        cudaStream_t stream)
    {
        cudaError_t error;

        if (shim_queries_size(&error, scratch, &bytes, stream))
            return error;
        shim_check_overlap(flag, out, n);
        shim_check_reach(count, sizeof *count);
        shim_queue_cub(stream, [=]() {
            int64_t n_out = 0;

            for (int64_t i = 0; i < n; i++)
                if (flag[i])
                    out[n_out++] = in[i];
            *count = (Count)n_out;
        });
        return cudaSuccess;
    }
};

} // namespace cub

#endif
