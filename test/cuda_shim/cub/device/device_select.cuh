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
        shim_check_overlap(flag, out, scratch == NULL ? 0 : n);
        return If(
            scratch, bytes, in, out, count, n,
            [flag](int64_t i) { return flag[i] != 0; }, stream);
    }

    /* By the values of in, which are 0, 1, ... here. */
    template <typename In, typename Out, typename Count, typename Wanted>
    static cudaError_t If(void *scratch, size_t &bytes, In in, Out *out,
        Count *count, int64_t n, Wanted is_wanted, cudaStream_t stream)
    {
        cudaError_t error;

        if (shim_queries_size(&error, scratch, &bytes, stream))
            return error;
        shim_check_reach(count, sizeof *count);
        shim_queue_cub(stream, [=]() {
            int64_t n_out = 0;

            for (int64_t i = 0; i < n; i++)
                if (is_wanted(in[i]))
                    out[n_out++] = in[i];
            *count = (Count)n_out;
        });
        return cudaSuccess;
    }
};

} // namespace cub

#endif
