/* op/ref/scatter.c -- y[index[i]] = x[i], or added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

etx_status etx_ref_scatter(
    struct etx_stream *stream, const struct etx_scatter_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n_rows; i++) {
        const float *x = args->x + i * args->width;
        float *y = args->y + (int64_t)args->index[i] * args->width;

        for (int32_t k = 0; k < args->width; k++)
            y[k] = args->add ? y[k] + x[k] : x[k];
    }
    return ETX_OK;
}
