/* cuda/op/adamw.cu -- one step of AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

#include "op/shared/adamw.h"

__global__ static void adamw_kernel(
    struct etx_adamw_args args, double bias1, double bias2)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        etx_adamw_step(&args, i, bias1, bias2);
}

etx_status etx_cuda_adamw(
    struct etx_stream *stream, const struct etx_adamw_args *args)
{
    const double bias1 = 1.0 - pow((double)args->beta1, (double)args->step);
    const double bias2 = 1.0 - pow((double)args->beta2, (double)args->step);

    return etx_launch(stream, args->n, adamw_kernel, *args, bias1, bias2);
}
