/* cuda/op/row_math.cuh -- activations, and norms of a row by a warp.
 *
 * Shared by the operators of the same names and by mlp. Lane l of a warp has
 * the columns l, l + 32, ... of a row, so a row is in one order of sums.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_ROW_MATH_CUH
#define ETX_CUDA_OP_ROW_MATH_CUH

#include "cuda/backend/launch.cuh"

#include <math.h>

/* op/shared/activation.h in float32. With exp(-|x|), nothing overflows. */
__device__ static inline float etx_fast_sigmoid(float x)
{
    const float e = expf(-fabsf(x));

    return x >= 0.0f ? 1.0f / (1.0f + e) : e / (1.0f + e);
}

__device__ static inline float etx_activate(int32_t activation, float x)
{
    switch ((enum etx_activation)activation) {
    case ETX_ACTIVATION_RELU:
        return x < 0.0f ? 0.0f : x;
    case ETX_ACTIVATION_SILU:
        return x * etx_fast_sigmoid(x);
    case ETX_ACTIVATION_TANH:
        return tanhf(x);
    case ETX_ACTIVATION_GELU:
        return x * (0.5f * erfcf(-x * 0.707106781f));
    case ETX_ACTIVATION_ELU:
        return x < 0.0f ? expm1f(x) : x;
    case ETX_ACTIVATION_SIGMOID:
        return etx_fast_sigmoid(x);
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        break;
    }
    return x;
}

/* mean and 1 / sqrt(variance + eps) of a row; 0 where both are 0. */
struct etx_row_statistics {
    float mean, inverse;
};

__device__ static inline struct etx_row_statistics etx_layer_statistics(
    const float *row, int32_t width, float eps)
{
    struct etx_row_statistics out = {0.0f, 0.0f};
    float sum = 0.0f;
    float squares = 0.0f;

    for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
        sum += row[k];
    out.mean = etx_warp_sum(sum) / (float)width;
    for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP) {
        const float d = row[k] - out.mean;
        squares = fmaf(d, d, squares);
    }
    const float variance = etx_warp_sum(squares) / (float)width + eps;
    out.inverse = variance > 0.0f ? 1.0f / sqrtf(variance) : 0.0f;
    return out;
}

/* 1 / max(length, eps) of a row; 0 where both are 0. In float64, so that no
 * square overflows. */
__device__ static inline double etx_inverse_length(
    const float *row, int32_t width, float eps)
{
    double squares = 0.0;

    for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
        squares += (double)row[k] * (double)row[k];
    const double length = fmax(sqrt(etx_warp_sum(squares)), (double)eps);
    return length > 0.0 ? 1.0 / length : 0.0;
}

/* y = norm(x) of a row that a warp has; y may be x. gain, shift [width] or
 * NULL. Batch norm is not of a row. */
__device__ static inline void etx_normalise_row(float *y, const float *x,
    int32_t width, int32_t norm, float eps, const float *gain,
    const float *shift)
{
    if (norm == ETX_NORM_L2) {
        const double inverse = etx_inverse_length(x, width, eps);

        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            y[k] = (float)((double)x[k] * inverse);
        return;
    }
    const struct etx_row_statistics row = etx_layer_statistics(x, width, eps);

    for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP) {
        float value = (x[k] - row.mean) * row.inverse;

        if (gain != NULL)
            value *= gain[k];
        if (shift != NULL)
            value += shift[k];
        y[k] = value;
    }
}

#endif
