/* cuda/op/activation.cu -- activation functions and their derivatives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/operators.h"
#include "cuda/op/row_math.cuh"

__global__ static void activation_kernel(struct etx_activation_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] = etx_activate(args.activation, args.x[i]);
}

etx_status etx_cuda_activation(
    struct etx_stream *stream, const struct etx_activation_args *args)
{
    return etx_launch(stream, args->n, activation_kernel, *args);
}

/* sigmoid(x) (1 - sigmoid(x)) */
__device__ static double sigmoid_slope(double x)
{
    const double e = exp(-fabs(x));

    return e / ((1.0 + e) * (1.0 + e));
}

__device__ static double sigmoid(double x)
{
    const double e = exp(-fabs(x));

    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

__device__ static double slope(int32_t activation, double x)
{
    switch ((enum etx_activation)activation) {
    case ETX_ACTIVATION_RELU:
        return x > 0.0 ? 1.0 : 0.0;
    case ETX_ACTIVATION_SILU:
        return sigmoid(x) + x * sigmoid_slope(x);
    case ETX_ACTIVATION_TANH:
        return 1.0 - tanh(x) * tanh(x);
    case ETX_ACTIVATION_GELU:
        return 0.5 * erfc(-x * 0.70710678118654752440) +
               x * 0.39894228040143267794 * exp(-0.5 * x * x);
    case ETX_ACTIVATION_ELU:
        return x < 0.0 ? exp(x) : 1.0;
    case ETX_ACTIVATION_SIGMOID:
        return sigmoid_slope(x);
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        break;
    }
    return 1.0;
}

__global__ static void activation_backward_kernel(
    struct etx_activation_backward_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.d_x[i] = (float)((double)args.d_y[i] *
                              slope(args.activation, (double)args.x[i]));
}

etx_status etx_cuda_activation_backward(
    struct etx_stream *stream, const struct etx_activation_backward_args *args)
{
    return etx_launch(stream, args->n, activation_backward_kernel, *args);
}
