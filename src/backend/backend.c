/* backend/backend.c -- the backends, by the device of a context's options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include "base/check.h"

const struct etx_backend etx_backends[] = {
    [ETX_DEVICE_CPU] = {.open = etx_backend_cpu_open,
        .close = etx_backend_cpu_close,
        .runs_host_networks = 1,
        .has_bfloat16 = 1},
    [ETX_DEVICE_CUDA] = {.open = etx_backend_cuda_open,
        .close = etx_backend_cuda_close,
        .has_float16 = 1,
        .keeps_graphs = 1},
};

const int32_t etx_n_backends =
    (int32_t)(sizeof etx_backends / sizeof etx_backends[0]);

etx_status etx_backend_open(struct etx_context *context)
{
    context->backend = &etx_backends[context->options.device];
    return context->backend->open(context);
}

void etx_backend_close(struct etx_context *context)
{
    context->backend->close(context);
}

etx_status etx_scratch_zeros(
    float **out, struct etx_context *context, int64_t n, const char *what)
{
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(out, context->stream->arena, n, sizeof **out, what));
    const struct etx_fill_args args = {.n = n, .y = *out};
    ETX_CHECK(context->ops->fill(context->stream, &args));
done:
    return status;
}
