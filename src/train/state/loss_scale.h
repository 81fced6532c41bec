/* train/state/loss_scale.h -- loss scaling for products in float16.
 *
 * float16 is 0 below 2^-24 and infinite above 65504. So the loss is multiplied
 * before the backward and the gradient divided before the update (Micikevicius
 * et al., arXiv:1710.03740, section 3.2), by a power of two, which rounds
 * nothing else. A gradient that is not finite halves the scale and its step is
 * skipped; after double_every good steps it doubles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_STATE_LOSS_SCALE_H
#define ETX_TRAIN_STATE_LOSS_SCALE_H

#include "train/config.h"

#define ETX_MIN_LOSS_SCALE 1.0
#define ETX_MAX_LOSS_SCALE 0x1p126 /* its inverse is a normal float */

/* Written to checkpoints as it is: 64-bit numbers alone. */
struct etx_train_loss_scale {
    double scale;      /* a power of two; 1 without loss scaling */
    int64_t n_good;    /* steps since it last changed */
    int64_t n_skipped; /* steps skipped so far */
};

struct etx_train_loss_scale etx_loss_scale_start(
    const struct etx_train_loss_scaling *options);
/* Whether a step with this gradient is skipped, which halves the scale. */
int32_t etx_loss_scale_skips(struct etx_train_loss_scale *state,
    const struct etx_train_loss_scaling *options, double gradient_norm);
/* A step was made. */
void etx_loss_scale_grow(struct etx_train_loss_scale *state,
    const struct etx_train_loss_scaling *options);

#endif
