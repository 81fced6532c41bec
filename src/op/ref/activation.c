/* op/ref/activation.c -- activation functions and their derivatives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/finite.h"
#include "op/shared/activation.h"

etx_status etx_ref_activation(
    struct etx_stream *stream, const struct etx_activation_args *args)
{
    const enum etx_activation activation =
        (enum etx_activation)args->activation;

    (void)stream;
    if (args->not_finite != NULL)
        *args->not_finite = etx_find_not_finite(args->x, args->n);
    for (int64_t i = 0; i < args->n; i++)
        args->y[i] =
            (float)etx_activation_value(activation, (double)args->x[i]);
    return ETX_OK;
}

etx_status etx_ref_activation_backward(
    struct etx_stream *stream, const struct etx_activation_backward_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        args->d_x[i] = etx_activation_gradient(args, i);
    return ETX_OK;
}
