/* op/shared/adamw.h -- one step of AdamW.
 *
 * Loshchilov and Hutter, arXiv:1711.05101, algorithm 2, with the decay scaled
 * by the learning rate and the AMSGrad maximum taken before the correction of
 * the bias, as PyTorch does.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_ADAMW_H
#define ETX_OP_SHARED_ADAMW_H

#include "op/shared/host_device.h"
#include "op/training.h"

#include <math.h>

/* Parameter i; bias1, bias2 = 1 - beta^step. */
ETX_HOST_DEVICE void etx_adamw_step(
    const struct etx_adamw_args *args, int64_t i, double bias1, double bias2)
{
    const double beta1 = (double)args->beta1;
    const double beta2 = (double)args->beta2;
    const double rate = (double)args->learning_rate;
    const double g = (double)args->gradient[i];
    const double m = beta1 * (double)args->m[i] + (1.0 - beta1) * g;
    const double v = beta2 * (double)args->v[i] + (1.0 - beta2) * g * g;
    double largest = v;

    args->m[i] = (float)m;
    args->v[i] = (float)v;
    if (args->v_max != NULL) {
        largest = fmax((double)args->v_max[i], v);
        args->v_max[i] = (float)largest;
    }
    const double step = m / bias1 / (sqrt(largest / bias2) + (double)args->eps);
    const double decay = args->decays == NULL ? (double)args->weight_decay
                                              : (double)args->weight_decay *
                                                    (double)args->decays[i];
    const double kept = 1.0 - rate * decay;

    args->parameter[i] =
        (float)((double)args->parameter[i] * kept - rate * step);
}

#endif
