/* train/config_sections.h -- the sections of a training config.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_CONFIG_SECTIONS_H
#define ETX_TRAIN_CONFIG_SECTIONS_H

#include "train/config.h"

/* Defaults of config->stage, and every section of json over them. */
etx_status etx_train_config_read_sections(
    struct etx_train_config *config, const struct etx_json *json);

#endif
