/* op/x86/simd/narrow.c -- floats in half the bits, on all threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#include "base/bfloat16.h"
#include "base/float16.h"

#define BLOCK 65536 /* values */

/* The values of a block, from *begin on. */
static int64_t find_block(int64_t *begin, int64_t n, int64_t block)
{
    const int64_t left = n - block * BLOCK;

    *begin = block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

static etx_status narrow_block(void *argument, int64_t block, int32_t worker)
{
    const struct etx_narrow_args *args = argument;
    int64_t begin;
    const int64_t n = find_block(&begin, args->n, block);

    (void)worker;
    if (args->format == ETX_HALF_BFLOAT16)
        etx_bfloat16_from_floats(args->y + begin, args->x + begin, n);
    else
        etx_float16_from_floats(args->y + begin, args->x + begin, n);
    return ETX_OK;
}

static etx_status widen_block(void *argument, int64_t block, int32_t worker)
{
    const struct etx_widen_args *args = argument;
    int64_t begin;
    const int64_t n = find_block(&begin, args->n, block);

    (void)worker;
    if (args->format == ETX_HALF_BFLOAT16)
        etx_bfloat16_to_floats(args->y + begin, args->x + begin, n);
    else
        etx_float16_to_floats(args->y + begin, args->x + begin, n);
    return ETX_OK;
}

etx_status ETX_ISA_NAME(narrow)(
    struct etx_stream *stream, const struct etx_narrow_args *args)
{
    struct etx_narrow_args job = *args;

    return etx_parallel_for(
        stream->pool, (args->n + BLOCK - 1) / BLOCK, narrow_block, &job);
}

etx_status ETX_ISA_NAME(widen)(
    struct etx_stream *stream, const struct etx_widen_args *args)
{
    struct etx_widen_args job = *args;

    return etx_parallel_for(
        stream->pool, (args->n + BLOCK - 1) / BLOCK, widen_block, &job);
}
