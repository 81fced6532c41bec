/* cuda/op/losses.cu -- binary cross-entropy of logits, squares of misses.
 *
 * Sums run over chunks of values and then over the chunks, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/operators.h"

#include "op/shared/losses.h"

/* Column 0: the loss of an edge; column 1: its weight. */
struct bce_term {
    struct etx_bce_loss_args args;

    __device__ double operator()(int64_t e, int32_t column) const
    {
        const double weight = etx_bce_weight(&args, e);
        double slope;

        if (column == 1 || weight == 0.0)
            return weight;
        return weight * etx_bce_of(&slope, &args, e);
    }
};

__global__ static void bce_slope_kernel(struct etx_bce_loss_args args)
{
    for (int64_t e = etx_first_item(); e < args.n; e += etx_item_step()) {
        const double weight = etx_bce_weight(&args, e);
        double slope;

        (void)etx_bce_of(&slope, &args, e);
        args.d_logit[e] =
            weight == 0.0 ? 0.0f : (float)((double)args.scale * weight * slope);
    }
}

etx_status etx_cuda_bce_loss(
    struct etx_stream *stream, const struct etx_bce_loss_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    double *sum = NULL;
    double total[2] = {0.0, 0.0};

    ETX_TRY(scratch.alloc(&sum, 2, "sums of losses"));
    if (args->d_logit != NULL)
        ETX_TRY(etx_launch(stream, args->n, bce_slope_kernel, *args));
    if (args->loss_sum == NULL && args->weight_sum == NULL)
        return ETX_OK;
    ETX_TRY(etx_column_sums(stream, sum, args->n, 2, bce_term{*args}));
    ETX_TRY(etx_memory_to_host(stream->memory, total, sum, 2, sizeof *total));
    if (args->loss_sum != NULL)
        *args->loss_sum = total[0];
    if (args->weight_sum != NULL)
        *args->weight_sum = total[1];
    return ETX_OK;
}

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
