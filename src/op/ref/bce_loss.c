/* op/ref/bce_loss.c -- binary cross-entropy of logits, plain and focal.
 *
 * With softplus(x) = max(x, 0) + log1p(exp(-|x|)) no finite logit overflows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include <math.h>

static double softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static double sigmoid(double x)
{
    const double e = exp(-fabs(x));

    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* The factor of the term of a label whose logit is x, and d log(factor) /
 * d x. */
static double focus(double *slope, double gamma, double x)
{
    *slope = -gamma * sigmoid(x);
    return pow(sigmoid(-x), gamma);
}

/* Loss of edge e with weight 1, and d loss / d x_e, where gamma is not 0. */
static double focal_loss(
    double *slope, const struct etx_bce_loss_args *args, int64_t e)
{
    const double x = (double)args->logit[e];
    const double positive = (double)args->pos_weight * (double)args->target[e];
    const double negative = 1.0 - (double)args->target[e];
    const double gamma = (double)args->focal_gamma;
    double up;
    double down;
    const double positive_factor = focus(&up, gamma, x);
    const double negative_factor = focus(&down, gamma, -x);

    *slope = negative * negative_factor * (sigmoid(x) - down * softplus(x)) +
             positive * positive_factor * (up * softplus(-x) - sigmoid(-x));
    return positive * positive_factor * softplus(-x) +
           negative * negative_factor * softplus(x);
}

/* Of edge e with weight 1. */
static double loss_of(const struct etx_bce_loss_args *args, int64_t e)
{
    const double x = (double)args->logit[e];
    const double y = (double)args->target[e];
    double slope;

    if (args->focal_gamma > 0.0f)
        return focal_loss(&slope, args, e);
    return (double)args->pos_weight * y * softplus(-x) +
           (1.0 - y) * softplus(x);
}

static double slope_of(const struct etx_bce_loss_args *args, int64_t e)
{
    const double x = (double)args->logit[e];
    const double y = (double)args->target[e];
    double slope;

    if (args->focal_gamma > 0.0f) {
        (void)focal_loss(&slope, args, e);
        return slope;
    }
    return (1.0 - y) * sigmoid(x) - (double)args->pos_weight * y * sigmoid(-x);
}

etx_status etx_ref_bce_loss(
    struct etx_stream *stream, const struct etx_bce_loss_args *args)
{
    double loss_sum = 0.0;
    double weight_sum = 0.0;

    (void)stream;
    for (int64_t e = 0; e < args->n; e++) {
        const double weight = args->weight ? (double)args->weight[e] : 1.0;
        const int32_t is_masked = weight == 0.0;
        if (!is_masked)
            loss_sum += weight * loss_of(args, e);
        weight_sum += weight;
        if (args->d_logit != NULL)
            args->d_logit[e] =
                is_masked
                    ? 0.0f
                    : (float)((double)args->scale * weight * slope_of(args, e));
    }
    if (args->loss_sum != NULL)
        *args->loss_sum = loss_sum;
    if (args->weight_sum != NULL)
        *args->weight_sum = weight_sum;
    return ETX_OK;
}
