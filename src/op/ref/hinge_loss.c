/* op/ref/hinge_loss.c -- contrastive loss of pairs of points.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "op/shared/losses.h"

#include <string.h>

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

/* Losses to args; gradients to sum [n_points, n_dim] unless it is NULL. */
static void add_pairs(double *sum, const struct etx_hinge_loss_args *args)
{
    double positive = 0.0;
    double negative = 0.0;

    for (int64_t p = 0; p < args->n_pairs; p++) {
        double slope;
        const double loss = etx_hinge_of(&slope, args, p);

        if (args->target[p])
            positive += loss;
        else
            negative += loss;
        if (sum != NULL)
            add_gradient(sum, args, p, slope);
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
        ETX_SCRATCH(sum, stream->arena, n_values, "gradients of points");
        memset(sum, 0, (size_t)n_values * sizeof *sum);
    }
    add_pairs(sum, args);
    if (args->d_point != NULL)
        for (int64_t t = 0; t < n_values; t++)
            args->d_point[t] = (float)((double)args->d_point[t] + sum[t]);
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
