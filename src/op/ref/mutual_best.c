/* op/ref/mutual_best.c -- edges that are the best at both of their ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"

/* best [n_nodes] = the best edge above the cut at every node as told by
 * `end` [n_edges], -1 where there is none. */
static etx_status find_best(int32_t *best,
    const struct etx_mutual_best_args *args, const int32_t *end,
    const struct etx_stream *stream)
{
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < args->n_nodes; i++)
        best[i] = -1;
    for (int64_t e = 0; e < args->n_edges; e++) {
        int32_t *at = &best[end[e]];

        ETX_POLL_STREAM(stream, e);
        if (args->score[e] > args->cut &&
            (*at < 0 || args->score[e] > args->score[*at]))
            *at = (int32_t)e;
    }
done:
    return status;
}

etx_status etx_ref_mutual_best(
    struct etx_stream *stream, const struct etx_mutual_best_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    int32_t *best_out = NULL;
    int32_t *best_in = NULL;
    int64_t count = 0;
    etx_status status;

    ETX_SCRATCH(
        best_out, stream->arena, args->n_nodes, "best edges out of nodes");
    ETX_SCRATCH(best_in, stream->arena, args->n_nodes, "best edges into nodes");
    ETX_CHECK(find_best(best_out, args, args->src, stream));
    ETX_CHECK(find_best(best_in, args, args->dst, stream));
    for (int64_t e = 0; e < args->n_edges; e++) {
        ETX_POLL_STREAM(stream, e);
        if (best_out[args->src[e]] == e && best_in[args->dst[e]] == e)
            args->selected[count++] = (int32_t)e;
    }
    *args->n_selected = count;
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
