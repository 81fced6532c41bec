/* op/simd/kernels/narrow.c -- floats in half the bits, on all threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/bfloat16.h"
#include "base/float16.h"

#define BLOCK 65536 /* values */

static etx_status narrow_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_narrow_args *args = argument;

    (void)worker;
    if (args->format == ETX_HALF_BFLOAT16)
        etx_bfloat16_from_floats(args->y + begin, args->x + begin, end - begin);
    else
        etx_float16_from_floats(args->y + begin, args->x + begin, end - begin);
    return ETX_OK;
}

static etx_status widen_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct etx_widen_args *args = argument;

    (void)worker;
    if (args->format == ETX_HALF_BFLOAT16)
        etx_bfloat16_to_floats(args->y + begin, args->x + begin, end - begin);
    else
        etx_float16_to_floats(args->y + begin, args->x + begin, end - begin);
    return ETX_OK;
}

etx_status ETX_ISA_NAME(narrow)(
    struct etx_stream *stream, const struct etx_narrow_args *args)
{
    struct etx_narrow_args job = *args;

    return etx_parallel_ranges(
        stream->pool, args->n, BLOCK, narrow_block, &job);
}

etx_status ETX_ISA_NAME(widen)(
    struct etx_stream *stream, const struct etx_widen_args *args)
{
    struct etx_widen_args job = *args;

    return etx_parallel_ranges(stream->pool, args->n, BLOCK, widen_block, &job);
}
