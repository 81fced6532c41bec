/* cuda/op/row_dot.cu -- scalar products of pairs of rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

__global__ static void row_dot_kernel(struct etx_row_dot_args args)
{
    for (int64_t i = etx_first_warp_item(); i < args.n_rows;
         i += etx_warp_item_step()) {
        const int64_t row_a = args.a_index != NULL ? args.a_index[i] : i;
        const int64_t row_b = args.b_index != NULL ? args.b_index[i] : i;
        const float *a = args.a + row_a * args.width;
        const float *b = args.b + row_b * args.width;
        double sum = 0.0;

        for (int32_t k = etx_lane(); k < args.width; k += ETX_CUDA_WARP)
            sum += (double)a[k] * (double)b[k];
        sum = etx_warp_sum(sum);
        if (etx_lane() == 0)
            args.out[i] = (float)sum;
    }
}

etx_status etx_cuda_row_dot(
    struct etx_stream *stream, const struct etx_row_dot_args *args)
{
    return etx_launch_warps(stream, args->n_rows, row_dot_kernel, *args);
}
