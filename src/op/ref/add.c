/* op/ref/add.c -- y += alpha * x.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

etx_status etx_ref_add(
    struct etx_stream *stream, const struct etx_add_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n; i++)
        args->y[i] += args->alpha * args->x[i];
    return ETX_OK;
}
