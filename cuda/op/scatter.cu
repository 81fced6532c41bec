/* cuda/op/scatter.cu -- y[index[i]] = x[i], or added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

__global__ static void scatter_kernel(struct etx_scatter_args args)
{
    for (int64_t t = etx_first_item(); t < args.n_rows * args.width;
         t += etx_item_step()) {
        const int64_t i = t / args.width;
        const int64_t k = t % args.width;
        float *y = args.y + (int64_t)args.index[i] * args.width + k;

        *y = args.add ? *y + args.x[t] : args.x[t];
    }
}

etx_status etx_cuda_scatter(
    struct etx_stream *stream, const struct etx_scatter_args *args)
{
    return etx_launch(
        stream, args->n_rows * args->width, scatter_kernel, *args);
}
