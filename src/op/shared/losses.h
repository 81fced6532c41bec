/* op/shared/losses.h -- losses of one edge, pair or value, and their slopes.
 *
 * Binary cross-entropy, plain and focal: with softplus(x) = max(x, 0) +
 * log1p(exp(-|x|)) no finite logit overflows. The contrastive loss attracts
 * pairs by their squared distance s and repels the others while they are closer
 * than the margin, by margin^2 - s (Exa.TrkX metric learning, arXiv:2103.06995,
 * section 3) or (margin - sqrt(s))^2 (Hadsell et al. 2006).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_LOSSES_H
#define ETX_OP_SHARED_LOSSES_H

#include "op/shared/activation.h"
#include "op/training.h"

ETX_HOST_DEVICE double etx_softplus(double x)
{
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

/* Focal factor of the term of a label whose logit is x, and d log(factor) /
 * d x. */
ETX_HOST_DEVICE double etx_focal_factor(double *slope, double gamma, double x)
{
    *slope = -gamma * etx_sigmoid(x);
    return pow(etx_sigmoid(-x), gamma);
}

ETX_HOST_DEVICE double etx_focal_loss(
    double *slope, double x, double positive, double negative, double gamma)
{
    double up;
    double down;
    const double positive_factor = etx_focal_factor(&up, gamma, x);
    const double negative_factor = etx_focal_factor(&down, gamma, -x);

    *slope =
        negative * negative_factor * (etx_sigmoid(x) - down * etx_softplus(x)) +
        positive * positive_factor * (up * etx_softplus(-x) - etx_sigmoid(-x));
    return positive * positive_factor * etx_softplus(-x) +
           negative * negative_factor * etx_softplus(x);
}

ETX_HOST_DEVICE double etx_bce_weight(
    const struct etx_bce_loss_args *args, int64_t e)
{
    return args->weight ? (double)args->weight[e] : 1.0;
}

/* Loss of edge e with weight 1, and d loss / d logit. */
ETX_HOST_DEVICE double etx_bce_of(
    double *slope, const struct etx_bce_loss_args *args, int64_t e)
{
    const double x = (double)args->logit[e];
    const double positive = (double)args->pos_weight * (double)args->target[e];
    const double negative = 1.0 - (double)args->target[e];

    if (args->focal_gamma > 0.0f)
        return etx_focal_loss(
            slope, x, positive, negative, (double)args->focal_gamma);
    *slope = negative * etx_sigmoid(x) - positive * etx_sigmoid(-x);
    return positive * etx_softplus(-x) + negative * etx_softplus(x);
}

/* x - target, 0 where there is no target. */
ETX_HOST_DEVICE double etx_square_miss(
    const struct etx_square_loss_args *args, int64_t i)
{
    const double target = (double)args->target[i];

    return isnan(target) ? 0.0 : (double)args->x[i] - target;
}

ETX_HOST_DEVICE double etx_squared_distance(
    const float *a, const float *b, int32_t n_dim)
{
    double s = 0.0;

    for (int32_t k = 0; k < n_dim; k++) {
        const double d = (double)a[k] - (double)b[k];
        s += d * d;
    }
    return s;
}

/* Loss of a repelled pair at squared distance s, and d loss / d s. */
ETX_HOST_DEVICE double etx_hinge_repel(
    double *slope, const struct etx_hinge_loss_args *args, double s)
{
    const double margin = (double)args->margin;
    const double distance = sqrt(s);

    *slope = 0.0;
    if (distance >= margin)
        return 0.0;
    if (args->hinge == ETX_HINGE_SQUARED) {
        *slope = -1.0;
        return margin * margin - s;
    }
    if (distance > 0.0)
        *slope = -(margin - distance) / distance;
    return (margin - distance) * (margin - distance);
}

/* Weighted loss of pair p; *slope gets d loss / d s, times its scale. */
ETX_HOST_DEVICE double etx_hinge_of(
    double *slope, const struct etx_hinge_loss_args *args, int64_t p)
{
    const double weight = args->weight ? (double)args->weight[p] : 1.0;
    const double s =
        etx_squared_distance(args->point + (int64_t)args->a[p] * args->n_dim,
            args->point + (int64_t)args->b[p] * args->n_dim, args->n_dim);

    if (args->target[p]) {
        *slope = weight * (double)args->positive_scale;
        return weight * s;
    }
    const double loss = etx_hinge_repel(slope, args, s);

    *slope = weight * (*slope * (double)args->negative_scale);
    return weight * loss;
}

#endif
