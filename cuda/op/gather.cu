/* cuda/op/gather.cu -- y[i] = x[index[i]], or added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

__global__ static void gather_kernel(struct etx_gather_args args)
{
    for (int64_t t = etx_first_item(); t < args.n_rows * args.width;
         t += etx_item_step()) {
        const int64_t i = t / args.width;
        const int64_t k = t % args.width;
        const float x = args.x[(int64_t)args.index[i] * args.width + k];

        args.y[t] = args.add ? args.y[t] + x : x;
    }
}

etx_status etx_cuda_gather(
    struct etx_stream *stream, const struct etx_gather_args *args)
{
    return etx_launch(stream, args->n_rows * args->width, gather_kernel, *args);
}
