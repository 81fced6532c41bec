/* op/shared/activation.h -- activation functions and their derivatives.
 *
 * In float64, through exp(-|x|) and erfc, so that no finite input raises an
 * invalid, overflow or division exception, even if a compiler evaluates both
 * sides of a choice, as clang does under MemorySanitizer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_ACTIVATION_H
#define ETX_OP_SHARED_ACTIVATION_H

#include "op/network.h"
#include "op/shared/host_device.h"

#include <math.h>

#define ETX_SQRT_HALF           0.70710678118654752440
#define ETX_INVERSE_SQRT_TWO_PI 0.39894228040143267794

ETX_HOST_DEVICE double etx_sigmoid(double x)
{
    const double e = exp(-fabs(x));

    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* sigmoid(x) (1 - sigmoid(x)) */
ETX_HOST_DEVICE double etx_sigmoid_slope(double x)
{
    const double e = exp(-fabs(x));

    return e / ((1.0 + e) * (1.0 + e));
}

/* Phi(x), the integral of the standard normal distribution. */
ETX_HOST_DEVICE double etx_normal_integral(double x)
{
    return 0.5 * erfc(-x * ETX_SQRT_HALF);
}

ETX_HOST_DEVICE double etx_activation_value(
    enum etx_activation activation, double x)
{
    switch (activation) {
    case ETX_ACTIVATION_RELU:
        return x < 0.0 ? 0.0 : x;
    case ETX_ACTIVATION_SILU:
        return x * etx_sigmoid(x);
    case ETX_ACTIVATION_TANH:
        return tanh(x);
    case ETX_ACTIVATION_GELU:
        return x * etx_normal_integral(x);
    case ETX_ACTIVATION_ELU:
        return x < 0.0 ? expm1(-fabs(x)) : x;
    case ETX_ACTIVATION_SIGMOID:
        return etx_sigmoid(x);
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        break;
    }
    return x;
}

ETX_HOST_DEVICE double etx_activation_slope(
    enum etx_activation activation, double x)
{
    switch (activation) {
    case ETX_ACTIVATION_RELU:
        return x > 0.0 ? 1.0 : 0.0;
    case ETX_ACTIVATION_SILU:
        return etx_sigmoid(x) + x * etx_sigmoid_slope(x);
    case ETX_ACTIVATION_TANH:
        return 1.0 - tanh(x) * tanh(x);
    case ETX_ACTIVATION_GELU:
        return etx_normal_integral(x) +
               x * ETX_INVERSE_SQRT_TWO_PI * exp(-0.5 * x * x);
    case ETX_ACTIVATION_ELU:
        return x < 0.0 ? exp(-fabs(x)) : 1.0;
    case ETX_ACTIVATION_SIGMOID:
        return etx_sigmoid_slope(x);
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        break;
    }
    return 1.0;
}

/* d_x[i] of activation_backward. */
ETX_HOST_DEVICE float etx_activation_gradient(
    const struct etx_activation_backward_args *args, int64_t i)
{
    const enum etx_activation activation =
        (enum etx_activation)args->activation;

    return (float)((double)args->d_y[i] *
                   etx_activation_slope(activation, (double)args->x[i]));
}

#endif
