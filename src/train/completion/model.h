/* train/completion/model.h -- a model that completes its tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_COMPLETION_MODEL_H
#define ETX_TRAIN_COMPLETION_MODEL_H

#include "data/event.h"
#include "stage/model.h"

/* The work behind etx_model_learn_completion. */
etx_status etx_completion_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_completion_options *options);

#endif
