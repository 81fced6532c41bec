/* op/ref/hinge_loss.c -- contrastive loss of pairs of points.
 *
 * Attracts pairs by their squared distance s and repels the others while they
 * are closer than the margin, by margin^2 - s (Exa.TrkX metric learning,
 * arXiv:2103.06995, section 3) or (margin - sqrt(s))^2 (Hadsell et al. 2006).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"

#include <math.h>
#include <string.h>

static double squared_distance(const float *a, const float *b, int32_t n_dim)
{
    double s = 0.0;

    for (int32_t k = 0; k < n_dim; k++) {
        const double d = (double)a[k] - (double)b[k];
        s += d * d;
    }
    return s;
}

/* sum [n_points, n_dim] += the gradient of pair p, d loss / d s = slope. */
static void add_gradient(double *sum, const struct etx_hinge_loss_args *args,
    int64_t p, double slope)
{
    const int64_t a = (int64_t)args->a[p] * args->n_dim;
    const int64_t b = (int64_t)args->b[p] * args->n_dim;

    for (int32_t k = 0; k < args->n_dim; k++) {
        const double d =
            (double)args->point[a + k] - (double)args->point[b + k];
        sum[a + k] += 2.0 * slope * d;
        sum[b + k] -= 2.0 * slope * d;
    }
}

/* The loss of a repelled pair at squared distance s, and d loss / d s. */
static double repel(
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

/* Losses to args; gradients to sum [n_points, n_dim] unless it is NULL. */
static void all_pairs(double *sum, const struct etx_hinge_loss_args *args)
{
    double positive = 0.0;
    double negative = 0.0;

    for (int64_t p = 0; p < args->n_pairs; p++) {
        const double weight = args->weight ? (double)args->weight[p] : 1.0;
        const double s =
            squared_distance(args->point + (int64_t)args->a[p] * args->n_dim,
                args->point + (int64_t)args->b[p] * args->n_dim, args->n_dim);
        double slope = 1.0;
        if (args->target[p]) {
            positive += weight * s;
            slope *= (double)args->positive_scale;
        } else {
            negative += weight * repel(&slope, args, s);
            slope *= (double)args->negative_scale;
        }
        if (sum != NULL)
            add_gradient(sum, args, p, weight * slope);
    }
    *args->positive_sum = positive;
    *args->negative_sum = negative;
}

etx_status etx_ref_hinge_loss(
    struct etx_stream *stream, const struct etx_hinge_loss_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n_values = args->n_points * args->n_dim;
    double *sum = NULL;
    etx_status status = ETX_OK;

    if (args->d_point != NULL) {
        ETX_CHECK(etx_arena_alloc(
            &sum, stream->arena, n_values, sizeof *sum, "gradients of points"));
        memset(sum, 0, (size_t)n_values * sizeof *sum);
    }
    all_pairs(sum, args);
    if (args->d_point != NULL)
        for (int64_t t = 0; t < n_values; t++)
            args->d_point[t] = (float)((double)args->d_point[t] + sum[t]);
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
