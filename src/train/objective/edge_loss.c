/* train/objective/edge_loss.c -- the loss of scored edges as one number.
 *
 * The reductions follow Exa.TrkX (mean; mean with n_false / n_true) and
 * acorn ("proportional" is mean, "equal" is equal).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/objective/edge_loss.h"

#include "base/check.h"
#include "stage/stage.h"

#include <math.h>

static double inverse(double value)
{
    return value > 0.0 ? 1.0 / value : 0.0;
}

static int is_true(const float *target, int64_t e)
{
    return target[e] > 0.0f;
}

struct etx_loss_sums etx_edge_sums(
    int64_t n, const float *target, const float *weight)
{
    struct etx_loss_sums sums = {.n = (double)n};

    for (int64_t e = 0; e < n; e++) {
        sums.weight += (double)weight[e];
        if (weight[e] > 0.0f && is_true(target, e))
            sums.n_true += 1.0;
        else if (weight[e] > 0.0f)
            sums.n_false += 1.0;
    }
    return sums;
}

struct etx_edge_norm etx_edge_norm(
    const struct etx_loss_sums *sums, int32_t reduction)
{
    const double n = sums->n_true + sums->n_false;
    struct etx_edge_norm norm = {.scale = inverse(n),
        .loss_scale = 1.0,
        .pt_scale = inverse(sums->n_true),
        .true_factor = 1.0f,
        .false_factor = 1.0f};

    switch ((enum etx_reduction)reduction) {
    case ETX_REDUCTION_WEIGHTED_MEAN:
        norm.scale = inverse(sums->weight);
        break;
    case ETX_REDUCTION_MEAN:
        break;
    case ETX_REDUCTION_EQUAL:
        norm.scale = 1.0;
        norm.true_factor = (float)inverse(sums->n_true);
        norm.false_factor = (float)inverse(sums->n_false);
        break;
    case ETX_REDUCTION_BALANCED:
        norm.true_factor = (float)(sums->n_false * inverse(sums->n_true));
        break;
    }
    return norm;
}

static void multiply_weights(const struct etx_edge_norm *norm, int64_t n,
    const float *target, float *weight)
{
    if (norm->true_factor == 1.0f && norm->false_factor == 1.0f)
        return;
    for (int64_t e = 0; e < n; e++)
        weight[e] *=
            is_true(target, e) ? norm->true_factor : norm->false_factor;
}

etx_status etx_edge_loss(double *loss, float *d_logit,
    struct etx_context *context, const struct etx_train_loss *options,
    const struct etx_edge_norm *norm, int64_t n, const float *logit,
    const float *target, float *weight)
{
    double sum = 0.0;
    struct etx_bce_loss_args args = {.n = n,
        .logit = logit,
        .pos_weight = options->positive_weight,
        .focal_gamma = options->focal_gamma,
        .loss_sum = &sum,
        .scale = (float)(norm->scale * norm->loss_scale),
        .d_logit = d_logit};
    etx_status status;

    multiply_weights(norm, n, target, weight);
    ETX_CHECK(
        etx_stage_to_device(&args.target, context, target, n, "edge targets"));
    ETX_CHECK(
        etx_stage_to_device(&args.weight, context, weight, n, "edge weights"));
    ETX_CHECK(context->ops->bce_loss(context->stream, &args));
    *loss = norm->scale * sum;
done:
    return status;
}

etx_status etx_edge_totals_add(struct etx_edge_totals *totals,
    struct etx_context *context, const struct etx_train_loss *options,
    int64_t n, const float *logit, const float *target, float *weight)
{
    const struct etx_edge_norm only_true = {
        .scale = 1.0, .true_factor = 1.0f, .false_factor = 0.0f};
    const struct etx_loss_sums sums = etx_edge_sums(n, target, weight);
    double loss = 0.0;
    double weight_sum = 0.0;
    double loss_true = 0.0;
    const struct etx_bce_loss_args args = {.n = n,
        .logit = logit,
        .target = target,
        .weight = weight,
        .pos_weight = options->positive_weight,
        .focal_gamma = options->focal_gamma,
        .loss_sum = &loss,
        .weight_sum = &weight_sum};
    etx_status status;

    ETX_CHECK(context->ops->bce_loss(context->stream, &args));
    if (options->reduction != ETX_REDUCTION_WEIGHTED_MEAN)
        ETX_CHECK(etx_edge_loss(&loss_true, NULL, context, options, &only_true,
            n, logit, target, weight));
    totals->n_true += sums.n_true;
    totals->n_false += sums.n_false;
    totals->weight += weight_sum;
    totals->loss += loss;
    totals->loss_true += loss_true;
done:
    return status;
}

double etx_edge_totals_loss(
    const struct etx_edge_totals *totals, int32_t reduction)
{
    const struct etx_loss_sums sums = {.n_true = totals->n_true,
        .n_false = totals->n_false,
        .weight = totals->weight};
    const struct etx_edge_norm norm = etx_edge_norm(&sums, reduction);
    const double loss_false = totals->loss - totals->loss_true;

    if (!(totals->weight > 0.0))
        return (double)NAN;
    if (reduction == ETX_REDUCTION_WEIGHTED_MEAN)
        return totals->loss / totals->weight;
    return norm.scale * ((double)norm.true_factor * totals->loss_true +
                            (double)norm.false_factor * loss_false);
}
