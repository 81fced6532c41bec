/* train/state/optimiser.h -- gradient clipping and AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_STATE_OPTIMISER_H
#define ETX_TRAIN_STATE_OPTIMISER_H

#include "train/config.h"
#include "train/state/model_state.h"

/* *out = the norm of value [n], an array of the context. */
etx_status etx_train_norm(double *out, const struct etx_context *context,
    int64_t n, const float *value);

struct etx_update {
    int64_t number; /* of the update, from 1: bias corrections of AdamW */
    float learning_rate;
    double gradient_norm; /* without the loss scale; finite */
    double loss_scale;
};

/* Divide state->gradient by the loss scale, clip it, and update parameters and
 * moments with it. */
etx_status etx_train_update(const struct etx_train_state *state,
    const struct etx_context *context,
    const struct etx_train_optimiser *options, const struct etx_update *update);

#endif
