/* train/state/optimiser.c -- clip the gradient and step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"

#include <math.h>

etx_status etx_train_norm(
    double *out, const struct etx_trainer *trainer, const float *value)
{
    const struct etx_context *context = trainer->context;
    double sum = 0.0;
    const struct etx_sum_squares_args args = {
        .n = trainer->stage->network->n_values, .x = value, .sum = &sum};
    const etx_status status = context->ops->sum_squares(context->stream, &args);

    *out = sqrt(sum);
    return status;
}

/* Undo the scale of the loss and clip: one factor, as the scale is a power of
 * two. */
static etx_status scale_gradient(const struct etx_trainer *trainer, double norm)
{
    const struct etx_context *context = trainer->context;
    const double clip = (double)trainer->config.optimiser.gradient_clip;
    const double clipped = clip > 0.0 && norm > clip ? clip / norm : 1.0;
    const struct etx_scale_args args = {.n = trainer->stage->network->n_values,
        .factor = (float)clipped / (float)etx_train_loss_scale(trainer),
        .y = trainer->gradient};

    return args.factor == 1.0f ? ETX_OK
                               : context->ops->scale(context->stream, &args);
}

static etx_status update(
    const struct etx_trainer *trainer, int64_t step, float learning_rate)
{
    const struct etx_train_optimiser *options = &trainer->config.optimiser;
    const struct etx_train_there *there = &trainer->there;
    const struct etx_context *context = trainer->context;
    const struct etx_adamw_args args = {.n = there->network.n_values,
        .step = step,
        .learning_rate = learning_rate,
        .beta1 = options->beta1,
        .beta2 = options->beta2,
        .eps = options->eps,
        .weight_decay = options->weight_decay,
        .decays = there->decays,
        .gradient = trainer->gradient,
        .parameter = there->network.value,
        .m = there->m,
        .v = there->v,
        .v_max = there->v_max};

    return context->ops->adamw(context->stream, &args);
}

etx_status etx_train_update(
    struct etx_trainer *trainer, int64_t step, float learning_rate, double norm)
{
    etx_status status;

    if (!isfinite(norm))
        return etx_fail(ETX_ERR_ARGUMENT,
            "step %d: the gradient is not finite; a smaller learning_rate "
            "than %.9g may help",
            (int)step, (double)trainer->config.schedule.learning_rate);
    ETX_CHECK(scale_gradient(trainer, norm));
    ETX_CHECK(
        update(trainer, step - trainer->loss_scale.n_skipped, learning_rate));
done:
    return status;
}
