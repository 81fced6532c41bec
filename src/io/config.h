/* io/config.h -- etx.config: the JSON description of a model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_CONFIG_H
#define ETX_IO_CONFIG_H

#include "base/json.h"
#include "base/options.h"

#include "stage/model.h"

/* etx.config is nested at most this deep. */
#define ETX_CONFIG_MAX_DEPTH  8
#define ETX_CONFIG_MAX_NUMBER 1e30

/* Fill all of model but its text from config; its networks have weights of
 * zero. Unknown keys and features, wrong types and values out of bounds are
 * ETX_ERR_FORMAT. After an error etx_model_free releases what there is. */
etx_status etx_config_read(
    struct etx_model *model, const struct etx_json *config);

/* Write the fields of an options struct of int32_t and float to an object. What
 * is without bound is the largest number of a config. */
etx_status etx_config_write_options(struct etx_json *object,
    const void *options, const struct etx_options_type *type);

#endif
