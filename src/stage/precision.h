/* stage/precision.h -- the precision of a network's products, by the context's
 * option. Training and its validation compute in float32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_PRECISION_H
#define ETX_STAGE_PRECISION_H

#include "backend/backend.h"

/* For the networks that run until etx_stage_precision_end. allows_half: they
 * may compute in float16. */
static inline void etx_stage_precision_begin(
    struct etx_context *context, int32_t allows_half)
{
    struct etx_stream *stream = context->stream;
    const int32_t precision = context->options.precision;

    stream->is_half =
        allows_half && context->backend->has_float16 &&
        (precision == ETX_PRECISION_BEST || precision == ETX_PRECISION_FLOAT16);
    stream->is_tf32 = precision == ETX_PRECISION_TF32;
    stream->is_bfloat16 = precision == ETX_PRECISION_BFLOAT16;
    stream->is_int16 = precision == ETX_PRECISION_INT16;
}

static inline void etx_stage_precision_end(struct etx_context *context)
{
    struct etx_stream *stream = context->stream;

    stream->is_half = 0;
    stream->is_tf32 = 0;
    stream->is_bfloat16 = 0;
    stream->is_int16 = 0;
}

#endif
