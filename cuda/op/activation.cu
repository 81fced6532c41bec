/* cuda/op/activation.cu -- activation functions and their derivatives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/operators.h"
#include "cuda/op/row_math.cuh"

#include "op/shared/activation.h"

__global__ static void activation_kernel(struct etx_activation_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step()) {
        const float x = args.x[i];

        if (args.not_finite != NULL)
            etx_note_not_finite(args.not_finite, x, i);
        args.y[i] = etx_activate(args.activation, x);
    }
}

etx_status etx_cuda_activation(
    struct etx_stream *stream, const struct etx_activation_args *args)
{
    if (args->not_finite != NULL)
        ETX_TRY(etx_start_not_finite(stream, args->not_finite));
    return etx_launch(stream, args->n, activation_kernel, *args);
}

__global__ static void activation_backward_kernel(
    struct etx_activation_backward_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.d_x[i] = etx_activation_gradient(&args, i);
}

etx_status etx_cuda_activation_backward(
    struct etx_stream *stream, const struct etx_activation_backward_args *args)
{
    return etx_launch(stream, args->n, activation_backward_kernel, *args);
}
