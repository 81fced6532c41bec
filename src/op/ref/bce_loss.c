/* op/ref/bce_loss.c -- binary cross-entropy of logits, plain and focal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "op/shared/losses.h"

etx_status etx_ref_bce_loss(
    struct etx_stream *stream, const struct etx_bce_loss_args *args)
{
    double loss_sum = 0.0;
    double weight_sum = 0.0;

    (void)stream;
    for (int64_t e = 0; e < args->n; e++) {
        const double weight = etx_bce_weight(args, e);
        const int32_t is_masked = weight == 0.0;
        double slope = 0.0;

        if (!is_masked)
            loss_sum += weight * etx_bce_of(&slope, args, e);
        weight_sum += weight;
        if (args->d_logit != NULL)
            args->d_logit[e] =
                is_masked ? 0.0f
                          : (float)((double)args->scale * weight * slope);
    }
    if (args->loss_sum != NULL)
        *args->loss_sum = loss_sum;
    if (args->weight_sum != NULL)
        *args->weight_sum = weight_sum;
    return ETX_OK;
}
