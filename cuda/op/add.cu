/* cuda/op/add.cu -- y += alpha * x.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

__global__ static void add_kernel(struct etx_add_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] += args.alpha * args.x[i];
}

etx_status etx_cuda_add(
    struct etx_stream *stream, const struct etx_add_args *args)
{
    return etx_launch(stream, args->n, add_kernel, *args);
}
