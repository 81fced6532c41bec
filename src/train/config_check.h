/* train/config_check.h -- what a training config requires of its model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_CONFIG_CHECK_H
#define ETX_TRAIN_CONFIG_CHECK_H

#include "stage/model.h"
#include "train/config.h"

int32_t etx_train_moves_hits(const struct etx_train_config *config);

/* ETX_ERR_FORMAT or ETX_ERR_UNSUPPORTED unless the stage, of the model with
 * this etx.config, can be trained as config says, by this backend. */
etx_status etx_train_config_check(const struct etx_train_config *config,
    const struct etx_json *model_config, const struct etx_model_stage *stage,
    const struct etx_backend *backend);

#endif
