/* train/module_map/model.h -- a model whose edges come from a module map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_MODULE_MAP_MODEL_H
#define ETX_TRAIN_MODULE_MAP_MODEL_H

#include "stage/model.h"

#include <exatrkx/train.h>

/* A copy of model with a map learned from n_events events. */
etx_status etx_module_map_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_module_map_options *options);

#endif
