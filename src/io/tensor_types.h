/* io/tensor_types.h -- names and sizes of enum etx_tensor_type.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_TENSOR_TYPES_H
#define ETX_IO_TENSOR_TYPES_H

#include <stddef.h>

#include "io/safetensors.h"

#define ETX_N_TENSOR_TYPES (ETX_TENSOR_I8 + 1)

struct etx_tensor_type_info {
    const char *name; /* in the header of a file */
    size_t size;      /* bytes of a value */
};

extern const struct etx_tensor_type_info etx_tensor_types[ETX_N_TENSOR_TYPES];

#endif
