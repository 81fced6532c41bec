/* io/tensor_floats.h -- weights stored in fewer bits, as float32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_TENSOR_FLOATS_H
#define ETX_IO_TENSOR_FLOATS_H

#include "io/safetensors.h"

/* The name of the scales of an I8 tensor. */
#define ETX_SCALE_SUFFIX ".scale"

/* out [n_values]: F32 as it is, F16 (IEEE binary16) exactly, I8 [n_rows,
 * n_cols] each times the scale of its row. scale is F32 [n_rows] for I8 and
 * not read otherwise. Other types are ETX_ERR_FORMAT. */
etx_status etx_tensor_floats(float *out, const struct etx_tensor *tensor,
    const struct etx_tensor *scale);

#endif
