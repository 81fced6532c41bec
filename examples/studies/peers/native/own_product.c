/* native/own_product.c -- a linear layer by this library's operator alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <exatrkx/exatrkx.h>

int32_t own_product(float *out, const float *x, const float *weight,
    const float *bias, int64_t n_rows, int32_t n_in, int32_t n_out,
    int32_t n_threads);

/* out [n_rows, n_out] = bias + x [n_rows, n_in] weight^T, weight
 * [n_out, n_in]; returns a status. */
int32_t own_product(float *out, const float *x, const float *weight,
    const float *bias, int64_t n_rows, int32_t n_in, int32_t n_out,
    int32_t n_threads)
{
    const struct etx_layer layer = {
        .n_in = n_in, .n_out = n_out, .weight = weight, .bias = bias};
    const struct etx_mlp_args args = {.n_rows = n_rows,
        .n_parts = 1,
        .n_layers = 1,
        .part = {{x, NULL, n_in}},
        .layer = &layer,
        .out = out};
    etx_context_options options;
    etx_context *context = NULL;
    etx_status status = etx_context_options_init(&options, sizeof options);

    if (status != ETX_OK)
        return (int32_t)status;
    options.n_threads = n_threads;
#if defined(__AVX2__) && !defined(__AVX512F__)
    options.cpu_level = ETX_CPU_AVX2;
#endif
    status = etx_context_create(&context, &options);
    if (status == ETX_OK)
        status = context->ops->mlp(context->stream, &args);
    etx_context_free(context);
    return (int32_t)status;
}
