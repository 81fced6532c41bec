/* train/transfer.c -- copies between the host and where the context computes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/transfer.h"

#include "base/check.h"

etx_status etx_train_to_host(float **out, struct etx_context *context,
    float *values, int64_t n, const char *what)
{
    const struct etx_memory *memory = context->stream->memory;
    etx_status status = ETX_OK;

    *out = values;
    if (memory == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(
        out, etx_train_host(context)->arena, n, sizeof **out, what));
    ETX_CHECK(etx_memory_to_host(memory, *out, values, n, sizeof **out));
done:
    return status;
}
