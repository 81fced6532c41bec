/* io/model_file.h -- models to and from safetensors with etx.config.
 *
 * docs/model_format.md is the specification. Everything here reads untrusted
 * bytes: every size, offset, name and number is checked before use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_MODEL_FILE_H
#define ETX_IO_MODEL_FILE_H

#include <jansson.h>

#include "stage/model.h"

/* A model with the stages of config and all weights zero: what a trainer
 * starts from and what load fills. */
etx_status etx_model_from_config(struct etx_model **out,
    const json_t *config);

#endif
