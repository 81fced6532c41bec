/* io/tensor_floats.c -- weights stored in fewer bits, as float32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/tensor_floats.h"

#include "base/float16.h"

#include <string.h>

static void read_halves(float *out, const struct etx_tensor *tensor)
{
    const unsigned char *bytes = tensor->data;

    for (int64_t v = 0; v < tensor->n_values; v++)
        out[v] = etx_float16_to_float(
            (uint16_t)(bytes[2 * v] | (uint32_t)bytes[2 * v + 1] << 8));
}

static etx_status read_bytes(
    float *out, const struct etx_tensor *tensor, const struct etx_tensor *scale)
{
    const signed char *bytes = tensor->data;
    const int64_t n_cols = tensor->dim[1];

    if (tensor->n_dims != 2)
        return etx_fail(ETX_ERR_FORMAT,
            "tensor %s: dtype I8 with %d dimensions, expected 2", tensor->name,
            (int)tensor->n_dims);
    if (scale == NULL || scale->type != ETX_TENSOR_F32 || scale->n_dims != 1 ||
        scale->dim[0] != tensor->dim[0])
        return etx_fail(ETX_ERR_FORMAT,
            "tensor %s: dtype I8 without %s" ETX_SCALE_SUFFIX
            " of dtype F32 and a value a row",
            tensor->name, tensor->name);
    for (int64_t r = 0; r < tensor->dim[0]; r++) {
        float factor = 0.0f;

        memcpy(&factor, (const char *)scale->data + r * 4, sizeof factor);
        for (int64_t c = 0; c < n_cols; c++)
            out[r * n_cols + c] = (float)bytes[r * n_cols + c] * factor;
    }
    return ETX_OK;
}

etx_status etx_tensor_floats(
    float *out, const struct etx_tensor *tensor, const struct etx_tensor *scale)
{
    switch ((enum etx_tensor_type)tensor->type) {
    case ETX_TENSOR_F32:
        memcpy(out, tensor->data, (size_t)tensor->n_values * sizeof *out);
        return ETX_OK;
    case ETX_TENSOR_F16:
        read_halves(out, tensor);
        return ETX_OK;
    case ETX_TENSOR_I8:
        return read_bytes(out, tensor, scale);
    case ETX_TENSOR_I64:
    case ETX_TENSOR_U8:
        break;
    }
    return etx_fail(ETX_ERR_FORMAT, "tensor %s is not of dtype F32, F16 or I8",
        tensor->name);
}
