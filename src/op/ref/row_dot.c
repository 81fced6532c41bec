/* op/ref/row_dot.c -- scalar products of pairs of rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

static const float *row(
    const float *data, const int32_t *index, int64_t i, int32_t width)
{
    return data + (index != NULL ? (int64_t)index[i] : i) * width;
}

etx_status etx_ref_row_dot(
    struct etx_stream *stream, const struct etx_row_dot_args *args)
{
    (void)stream;
    for (int64_t i = 0; i < args->n_rows; i++) {
        const float *a = row(args->a, args->a_index, i, args->width);
        const float *b = row(args->b, args->b_index, i, args->width);
        double sum = 0.0;
        for (int32_t k = 0; k < args->width; k++)
            sum += (double)a[k] * (double)b[k];
        args->out[i] = (float)sum;
    }
    return ETX_OK;
}
