/* op/ref/adamw.c -- one step of AdamW.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "op/shared/adamw.h"

etx_status etx_ref_adamw(
    struct etx_stream *stream, const struct etx_adamw_args *args)
{
    const double bias1 = 1.0 - pow((double)args->beta1, (double)args->step);
    const double bias2 = 1.0 - pow((double)args->beta2, (double)args->step);

    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        etx_adamw_step(args, i, bias1, bias2);
    return ETX_OK;
}
