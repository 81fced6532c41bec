/* train/state/loss_scale.c -- multiply the loss, so that gradients stay in
 * range.
 *
 * What float16 cannot hold is 0 below 2^-24 and infinite above 65504. The loss
 * is multiplied before the backward and the gradient divided before the update
 * (Micikevicius et al., arXiv:1710.03740, section 3.2): by a power of two, so
 * that nothing else is rounded. A gradient that is not finite halves the scale
 * and its step is left out; many good steps in a row double it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include <math.h>

static int is_on(const struct etx_trainer *trainer)
{
    return trainer->config.loss_scaling.initial > 0.0f;
}

void etx_train_loss_scale_open(struct etx_trainer *trainer)
{
    trainer->loss_scale.scale =
        is_on(trainer) ? (double)trainer->config.loss_scaling.initial : 1.0;
    trainer->snapshot.loss_scale = trainer->loss_scale;
}

double etx_train_loss_scale(const struct etx_trainer *trainer)
{
    return trainer->loss_scale.scale;
}

int32_t etx_train_loss_scale_skips(
    struct etx_trainer *trainer, double gradient_norm)
{
    struct etx_train_loss_scale *state = &trainer->loss_scale;

    if (!is_on(trainer) || isfinite(gradient_norm) ||
        state->scale <= ETX_MIN_LOSS_SCALE)
        return 0;
    state->scale /= 2.0;
    state->n_good = 0;
    state->n_skipped++;
    return 1;
}

void etx_train_loss_scale_grow(struct etx_trainer *trainer)
{
    struct etx_train_loss_scale *state = &trainer->loss_scale;

    if (!is_on(trainer) ||
        ++state->n_good < trainer->config.loss_scaling.double_every)
        return;
    state->n_good = 0;
    state->scale = fmin(2.0 * state->scale, ETX_MAX_LOSS_SCALE);
}
