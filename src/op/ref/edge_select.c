/* op/ref/edge_select.c -- the edges above a cut, at most n.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"

#include <stdlib.h>

struct scored {
    float score;
    int32_t edge;
};

static int by_score(const void *left, const void *right)
{
    const struct scored *a = left;
    const struct scored *b = right;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->edge < b->edge ? -1 : a->edge > b->edge;
}

static int ascending(const void *left, const void *right)
{
    const int32_t a = *(const int32_t *)left;
    const int32_t b = *(const int32_t *)right;

    return a < b ? -1 : a > b;
}

/* The best max_selected of the n selected edges, n above it, ascending again.
 */
static etx_status keep_best(struct etx_stream *stream,
    const struct etx_edge_select_args *args, int64_t n)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct scored *scored = NULL;
    etx_status status;

    ETX_SCRATCH(scored, stream->arena, n, "scored edges");
    for (int64_t t = 0; t < n; t++)
        scored[t] =
            (struct scored){args->score[args->selected[t]], args->selected[t]};
    qsort(scored, (size_t)n, sizeof *scored, by_score);
    for (int64_t t = 0; t < args->max_selected; t++)
        args->selected[t] = scored[t].edge;
    qsort(args->selected, (size_t)args->max_selected, sizeof *args->selected,
        ascending);
    *args->n_selected = args->max_selected;
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

etx_status etx_ref_edge_select(
    struct etx_stream *stream, const struct etx_edge_select_args *args)
{
    int64_t count = 0;

    for (int64_t e = 0; e < args->n_edges; e++)
        if (args->score[e] > args->cut)
            args->selected[count++] = (int32_t)e;
    *args->n_selected = count;
    if (args->max_selected > 0 && count > args->max_selected)
        return keep_best(stream, args, count);
    return ETX_OK;
}
