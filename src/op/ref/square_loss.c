/* op/ref/square_loss.c -- squared distances from targets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "op/shared/losses.h"

etx_status etx_ref_square_loss(
    struct etx_stream *stream, const struct etx_square_loss_args *args)
{
    double sum = 0.0;

    (void)stream;
    for (int64_t i = 0; i < args->n; i++) {
        const double miss = etx_square_miss(args, i);

        if (args->d_x != NULL)
            args->d_x[i] = (float)(args->scale * miss);
        sum += miss * miss;
    }
    *args->sum = sum;
    return ETX_OK;
}
