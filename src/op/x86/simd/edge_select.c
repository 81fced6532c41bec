/* op/x86/simd/edge_select.c -- the edges above a cut, at most so many.
 *
 * Which score the last edge kept has is found by counting: first by the upper
 * half of the bits of the scores, then by the lower half among those that
 * share the upper one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#include "base/check.h"
#include "op/x86/vector.h"

#include <string.h>

#define HALF 65536 /* values of half the bits of a score */

/* Bits in the order of the scores; no score is a NaN. */
static uint32_t ordered_bits(float score)
{
    uint32_t bits;

    score += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : UINT32_C(1) << 31);
}

/* The largest value with at least *wanted counts at or above it; *wanted
 * becomes how many of its own are needed. */
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

    ETX_CHECK(etx_arena_take(
        &count, stream->arena, HALF, sizeof *count, "counts of scores"));
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

etx_status ETX_ISA_NAME(edge_select)(
    struct etx_stream *stream, const struct etx_edge_select_args *args)
{
    int64_t n = 0;

    for (int64_t e = 0; e < args->n_edges; e++) {
        args->selected[n] = (int32_t)e;
        n += args->score[e] > args->cut;
    }
    *args->n_selected = n;
    if (args->max_selected > 0 && n > args->max_selected)
        return keep_best(stream, args, n);
    return ETX_OK;
}
