/* train/state/loss_scale.c -- loss scaling for products in float16.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/loss_scale.h"

#include <math.h>

static int is_on(const struct etx_train_loss_scaling *options)
{
    return options->initial > 0.0f;
}

struct etx_train_loss_scale etx_loss_scale_start(
    const struct etx_train_loss_scaling *options)
{
    return (struct etx_train_loss_scale){
        .scale = is_on(options) ? (double)options->initial : 1.0};
}

int32_t etx_loss_scale_skips(struct etx_train_loss_scale *state,
    const struct etx_train_loss_scaling *options, double gradient_norm)
{
    if (!is_on(options) || isfinite(gradient_norm) ||
        state->scale <= ETX_MIN_LOSS_SCALE)
        return 0;
    state->scale /= 2.0;
    state->n_good = 0;
    state->n_skipped++;
    return 1;
}

void etx_loss_scale_grow(struct etx_train_loss_scale *state,
    const struct etx_train_loss_scaling *options)
{
    if (!is_on(options) || ++state->n_good < options->double_every)
        return;
    state->n_good = 0;
    state->scale = fmin(2.0 * state->scale, ETX_MAX_LOSS_SCALE);
}
