/* op/ref/activation.c -- activation functions and their derivatives.
 *
 * In float64, through exp(-|x|) and erfc, so that no finite input raises an
 * invalid, overflow or division exception.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include <math.h>

static const double sqrt_half = 0.70710678118654752440;
static const double inverse_sqrt_two_pi = 0.39894228040143267794;

static double sigmoid(double x)
{
    const double e = exp(-fabs(x));

    return x >= 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
}

/* sigmoid(x) (1 - sigmoid(x)) */
static double sigmoid_slope(double x)
{
    const double e = exp(-fabs(x));

    return e / ((1.0 + e) * (1.0 + e));
}

/* Phi(x), the integral of the standard normal distribution. */
static double normal_integral(double x)
{
    return 0.5 * erfc(-x * sqrt_half);
}

static double value(enum etx_activation activation, double x)
{
    switch (activation) {
    case ETX_ACTIVATION_RELU:
        return x < 0.0 ? 0.0 : x;
    case ETX_ACTIVATION_SILU:
        return x * sigmoid(x);
    case ETX_ACTIVATION_TANH:
        return tanh(x);
    case ETX_ACTIVATION_GELU:
        return x * normal_integral(x);
    case ETX_ACTIVATION_ELU:
        return x < 0.0 ? expm1(x) : x;
    case ETX_ACTIVATION_SIGMOID:
        return sigmoid(x);
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        break;
    }
    return x;
}

static double slope(enum etx_activation activation, double x)
{
    switch (activation) {
    case ETX_ACTIVATION_RELU:
        return x > 0.0 ? 1.0 : 0.0;
    case ETX_ACTIVATION_SILU:
        return sigmoid(x) + x * sigmoid_slope(x);
    case ETX_ACTIVATION_TANH:
        return 1.0 - tanh(x) * tanh(x);
    case ETX_ACTIVATION_GELU:
        return normal_integral(x) + x * inverse_sqrt_two_pi * exp(-0.5 * x * x);
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

etx_status etx_ref_activation(
    struct etx_stream *stream, const struct etx_activation_args *args)
{
    const enum etx_activation activation =
        (enum etx_activation)args->activation;

    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        args->y[i] = (float)value(activation, (double)args->x[i]);
    return ETX_OK;
}

etx_status etx_ref_activation_backward(
    struct etx_stream *stream, const struct etx_activation_backward_args *args)
{
    const enum etx_activation activation =
        (enum etx_activation)args->activation;

    (void)stream;
    for (int64_t i = 0; i < args->n; i++) {
        const double d_y = (double)args->d_y[i];
        args->d_x[i] = (float)(d_y * slope(activation, (double)args->x[i]));
    }
    return ETX_OK;
}
