/* cuda/op/bce_loss.cu -- binary cross-entropy of logits.
 *
 * The formulas are those of op/ref/bce_loss.c. Sums run over chunks of edges
 * and then over the chunks, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/operators.h"

#include <math.h>

__device__ static double softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

__device__ static double sigmoid(double x)
{
    const double e = exp(-fabs(x));

    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

__device__ static double weight_of(
    const struct etx_bce_loss_args &args, int64_t e)
{
    return args.weight != NULL ? (double)args.weight[e] : 1.0;
}

/* The factor of the term of a label whose logit is x, and d log(factor) /
 * d x. */
__device__ static double focus(double *slope, double gamma, double x)
{
    *slope = -gamma * sigmoid(x);
    return pow(sigmoid(-x), gamma);
}

/* Loss of edge e with weight 1, and d loss / d x_e; a gamma of 0 gives factors
 * of 1 and slopes of 0. */
__device__ static double loss_of(
    double *slope, const struct etx_bce_loss_args &args, int64_t e)
{
    const double x = (double)args.logit[e];
    const double positive = (double)args.pos_weight * (double)args.target[e];
    const double negative = 1.0 - (double)args.target[e];
    const double gamma = (double)args.focal_gamma;
    double up;
    double down;
    const double positive_factor = focus(&up, gamma, x);
    const double negative_factor = focus(&down, gamma, -x);

    *slope = negative * negative_factor * (sigmoid(x) - down * softplus(x)) +
             positive * positive_factor * (up * softplus(-x) - sigmoid(-x));
    return positive * positive_factor * softplus(-x) +
           negative * negative_factor * softplus(x);
}

/* Column 0: the loss of an edge; column 1: its weight. */
struct bce_term {
    struct etx_bce_loss_args args;

    __device__ double operator()(int64_t e, int32_t column) const
    {
        const double weight = weight_of(args, e);
        double slope;

        if (column == 1 || weight == 0.0)
            return weight;
        return weight * loss_of(&slope, args, e);
    }
};

__global__ static void slope_kernel(struct etx_bce_loss_args args)
{
    for (int64_t e = etx_first_item(); e < args.n; e += etx_item_step()) {
        const double weight = weight_of(args, e);
        double slope;

        (void)loss_of(&slope, args, e);
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

    ETX_TRY(scratch.take(&sum, 2, "sums of losses"));
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
