/* cuda/op/activation.cu -- activation functions and their derivatives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/operators.h"
#include "cuda/op/row_math.cuh"

#include "op/shared/activation.h"

/* The smallest index does not depend on the order of arrival; without one, all
 * bits are set: -1. y NULL: only that. */
__global__ static void activation_kernel(struct etx_activation_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step()) {
        const float x = args.x[i];

        if (args.not_finite != NULL && !isfinite(x))
            atomicMin(reinterpret_cast<unsigned long long *>(args.not_finite),
                (unsigned long long)i);
        if (args.y != NULL)
            args.y[i] = etx_activate(args.activation, x);
    }
}

etx_status etx_cuda_activation(
    struct etx_stream *stream, const struct etx_activation_args *args)
{
    if (args->not_finite != NULL)
        ETX_CUDA(cudaMemsetAsync(args->not_finite, 0xFF,
            sizeof *args->not_finite, etx_cuda_of(stream)->stream));
    return etx_launch(stream, args->n, activation_kernel, *args);
}

etx_status etx_cuda_find_not_finite(
    struct etx_stream *stream, const struct etx_find_not_finite_args *args)
{
    const struct etx_activation_args find = {
        args->n, ETX_ACTIVATION_NONE, args->x, NULL, args->index};

    return etx_cuda_activation(stream, &find);
}

__global__ static void activation_backward_kernel(
    struct etx_activation_backward_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.d_x[i] = etx_activation_gradient(&args, i);
}

ETX_CUDA_PER_ITEM(activation_backward, args->n)
