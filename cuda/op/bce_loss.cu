/* cuda/op/bce_loss.cu -- binary cross-entropy of logits.
 *
 * Sums run over chunks of edges and then over the chunks, in order.
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

__global__ static void slope_kernel(struct etx_bce_loss_args args)
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
        ETX_TRY(etx_launch(stream, args->n, slope_kernel, *args));
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
