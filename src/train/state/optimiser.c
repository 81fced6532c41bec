/* train/state/optimiser.c -- gradient clipping and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/optimiser.h"

#include "base/check.h"

#include <math.h>

etx_status etx_train_norm(double *out, const struct etx_context *context,
    int64_t n, const float *value)
{
    double sum = 0.0;
    const struct etx_sum_squares_args args = {.n = n, .x = value, .sum = &sum};
    const etx_status status = context->ops->sum_squares(context->stream, &args);

    *out = sqrt(sum);
    return status;
}

/* Divide by the loss scale and clip by the norm of all parameters in one
 * multiplication: the loss scale is a power of two, so that the division is
 * exact. */
static etx_status clip_gradient(const struct etx_train_state *state,
    const struct etx_context *context, double clip,
    const struct etx_update *update)
{
    const double norm = update->gradient_norm;
    const double clipped = clip > 0.0 && norm > clip ? clip / norm : 1.0;
    const struct etx_scale_args args = {.n = state->network->n_values,
        .factor = (float)clipped / (float)update->loss_scale,
        .y = state->gradient};

    return args.factor == 1.0f ? ETX_OK
                               : context->ops->scale(context->stream, &args);
}

etx_status etx_train_update(const struct etx_train_state *state,
    const struct etx_context *context,
    const struct etx_train_optimiser *options, const struct etx_update *update)
{
    const struct etx_moments *moments = &state->device_moments;
    const struct etx_adamw_args args = {.n = state->network->n_values,
        .step = update->number,
        .learning_rate = update->learning_rate,
        .beta1 = options->beta1,
        .beta2 = options->beta2,
        .eps = options->eps,
        .weight_decay = options->weight_decay,
        .decays = state->decays,
        .gradient = state->gradient,
        .parameter = state->device_network.value,
        .m = moments->m,
        .v = moments->v,
        .v_max = moments->v_max};
    etx_status status;

    ETX_CHECK(
        clip_gradient(state, context, (double)options->gradient_clip, update));
    ETX_CHECK(context->ops->adamw(context->stream, &args));
done:
    return status;
}
