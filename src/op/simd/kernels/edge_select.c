/* op/simd/kernels/edge_select.c -- the edges above a cut, at most n.
 *
 * Each block writes its selection at the start of its own range of the result;
 * then the ranges are compacted:
 *
 *     | 0 2 . . | 5 . . . | 8 9 11 . |   ->   0 2 5 8 9 11
 *
 * With more than n, the score of the last one to keep is found by a radix
 * select: a histogram of the upper half of the bits of the scores, then one of
 * the lower half of those with the same upper half.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"
#include "op/simd/pick.h"

#include <string.h>

#define HALF 65536 /* values of half the bits of a score */

/* Unsigned integers in the order of the scores; no score is a NaN. */
static uint32_t ordered_bits(float score)
{
    uint32_t bits;

    score += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31);
}

/* The largest value of the histogram with at least *wanted counts at or above
 * it; *wanted becomes how many of those at the value itself are needed. */
static uint32_t find_value(const int64_t *count, int64_t *wanted)
{
    uint32_t value = HALF - 1;

    while (count[value] < *wanted)
        *wanted -= count[value--];
    return value;
}

/* Of the n selected edges keep the best max_selected in place. */
static etx_status keep_best(struct etx_stream *stream,
    const struct etx_edge_select_args *args, int64_t n)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    int32_t *selected = args->selected;
    int64_t wanted = args->max_selected;
    int64_t n_kept = 0;
    int64_t *count = NULL;
    etx_status status;

    ETX_SCRATCH(count, stream->arena, HALF, "counts of scores");
    memset(count, 0, HALF * sizeof *count);
    for (int64_t t = 0; t < n; t++)
        count[ordered_bits(args->score[selected[t]]) >> 16]++;
    const uint32_t upper = find_value(count, &wanted);
    memset(count, 0, HALF * sizeof *count);
    for (int64_t t = 0; t < n; t++) {
        const uint32_t bits = ordered_bits(args->score[selected[t]]);
        if (bits >> 16 == upper)
            count[bits & (HALF - 1)]++;
    }
    const uint32_t last = upper << 16 | find_value(count, &wanted);
    for (int64_t t = 0; t < n; t++) {
        const uint32_t bits = ordered_bits(args->score[selected[t]]);
        selected[n_kept] = selected[t];
        n_kept += bits > last || (bits == last && wanted-- > 0);
    }
    *args->n_selected = n_kept;
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

struct selection {
    const struct etx_edge_select_args *args;
    int64_t *count; /* [n_blocks] */
};

/* Into the block's own range of the result. */
static etx_status select_block(void *argument, int64_t block, int32_t worker)
{
    const struct selection *selection = argument;
    const struct etx_edge_select_args *args = selection->args;
    const int64_t begin = block * ETX_PICK_BLOCK;

    (void)worker;
    selection->count[block] = etx_pick(args->selected + begin, args->score,
        args->cut, begin, etx_pick_end(begin, args->n_edges));
    return ETX_OK;
}

etx_status ETX_ISA_NAME(edge_select)(
    struct etx_stream *stream, const struct etx_edge_select_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n_blocks =
        (args->n_edges + ETX_PICK_BLOCK - 1) / ETX_PICK_BLOCK;
    struct selection selection = {.args = args};
    int64_t n = 0;
    etx_status status;

    ETX_SCRATCH(selection.count, stream->arena, n_blocks, "blocks of edges");
    ETX_CHECK(
        etx_parallel_for(stream->pool, n_blocks, select_block, &selection));
    for (int64_t b = 0; b < n_blocks; b++) {
        memmove(args->selected + n, args->selected + b * ETX_PICK_BLOCK,
            (size_t)selection.count[b] * sizeof *args->selected);
        n += selection.count[b];
    }
    *args->n_selected = n;
    if (args->max_selected > 0 && n > args->max_selected)
        ETX_CHECK(keep_best(stream, args, n));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
