/* train/first_pass/model.h -- a model that begins with a first pass.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_FIRST_PASS_MODEL_H
#define ETX_TRAIN_FIRST_PASS_MODEL_H

#include "data/event.h"
#include "stage/model.h"

/* The work behind etx_model_learn_first_pass. */
etx_status etx_first_pass_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_first_pass_options *options);

#endif
