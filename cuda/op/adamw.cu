/* cuda/op/adamw.cu -- one step of AdamW.
 *
 * The arithmetic is that of op/ref/adamw.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

#include <math.h>

__global__ static void adamw_kernel(
    struct etx_adamw_args args, double bias1, double bias2)
{
    const double beta1 = (double)args.beta1;
    const double beta2 = (double)args.beta2;
    const double rate = (double)args.learning_rate;
    const double weight_decay = (double)args.weight_decay;

    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step()) {
        const double g = (double)args.gradient[i];
        const double m = beta1 * (double)args.m[i] + (1.0 - beta1) * g;
        const double v = beta2 * (double)args.v[i] + (1.0 - beta2) * g * g;
        double largest = v;

        args.m[i] = (float)m;
        args.v[i] = (float)v;
        if (args.v_max != NULL) {
            largest = fmax((double)args.v_max[i], v);
            args.v_max[i] = (float)largest;
        }
        const double decay = args.decays == NULL
                                 ? weight_decay
                                 : weight_decay * (double)args.decays[i];
        const double step =
            m / bias1 / (sqrt(largest / bias2) + (double)args.eps);

        args.parameter[i] =
            (float)((double)args.parameter[i] * (1.0 - rate * decay) -
                    rate * step);
    }
}

etx_status etx_cuda_adamw(
    struct etx_stream *stream, const struct etx_adamw_args *args)
{
    const double bias1 = 1.0 - pow((double)args->beta1, (double)args->step);
    const double bias2 = 1.0 - pow((double)args->beta2, (double)args->step);

    return etx_launch(stream, args->n, adamw_kernel, *args, bias1, bias2);
}
