/* cuda/op/square_loss.cu -- squared distances from targets.
 *
 * Sums run over chunks of values and then over the chunks, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/operators.h"

#include "op/shared/losses.h"

struct miss_term {
    struct etx_square_loss_args args;

    __device__ double operator()(int64_t i, int32_t) const
    {
        return etx_square_miss(&args, i) * etx_square_miss(&args, i);
    }
};

__global__ static void slope_kernel(struct etx_square_loss_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.d_x[i] = (float)(args.scale * etx_square_miss(&args, i));
}

etx_status etx_cuda_square_loss(
    struct etx_stream *stream, const struct etx_square_loss_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    double *sum = NULL;

    ETX_TRY(scratch.alloc(&sum, 1, "sum of squares"));
    if (args->d_x != NULL)
        ETX_TRY(etx_launch(stream, args->n, slope_kernel, *args));
    ETX_TRY(etx_column_sums(stream, sum, args->n, 1, miss_term{*args}));
    return etx_memory_to_host(stream->memory, args->sum, sum, 1, sizeof *sum);
}
