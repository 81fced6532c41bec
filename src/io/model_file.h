/* io/model_file.h -- models to and from safetensors with etx.config.
 *
 * docs/model_format.md is the specification. Everything in this file reads
 * untrusted bytes: every size, offset, name and number is checked before use.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_MODEL_FILE_H
#define ETX_IO_MODEL_FILE_H

#include "base/json.h"

#include "stage/model.h"

/* A model with the stages of config and all weights zero: what a trainer
 * starts from and what load fills. Its text is config as compact JSON. */
etx_status etx_model_from_config(
    struct etx_model **out, const struct etx_json *config);

/* The weights will not change any more; etx_model_parse does it. */
void etx_model_freeze(struct etx_model *model);

/* The work of etx_model_load_memory, etx_model_load, etx_model_save. */
etx_status etx_model_parse(
    struct etx_model **out, const void *data, size_t size);
etx_status etx_model_read(struct etx_model **out, const char *path);
etx_status etx_model_write(const struct etx_model *model, const char *path);

#endif
