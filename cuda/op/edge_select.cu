/* cuda/op/edge_select.cu -- the edges above a cut, at most n.
 *
 * Beyond the bound, a stable sort by descending score keeps the best and, of
 * equal scores, the first; they are put in their old order again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

/* Ascends as the score descends. */
__global__ static void score_keys_kernel(
    uint64_t *key, const float *score, const int32_t *edge, int64_t n)
{
    for (int64_t t = etx_first_item(); t < n; t += etx_item_step())
        key[t] = (uint64_t)~etx_ordered(score[edge[t]]) & 0xFFFFFFFFu;
}

__global__ static void edge_keys_kernel(
    uint64_t *key, const int32_t *edge, int64_t n)
{
    for (int64_t t = etx_first_item(); t < n; t += etx_item_step())
        key[t] = (uint64_t)(uint32_t)edge[t];
}

__global__ static void edges_kernel(
    int32_t *edge, const uint64_t *key, int64_t n)
{
    for (int64_t t = etx_first_item(); t < n; t += etx_item_step())
        edge[t] = (int32_t)key[t];
}

/* The best max_selected of the n selected edges, ascending again. */
static etx_status keep_best(struct etx_stream *stream,
    const struct etx_edge_select_args *args, int64_t n)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t max = args->max_selected;
    uint64_t *key = NULL;
    uint64_t *sorted = NULL;
    int32_t *best = NULL;

    ETX_TRY(scratch.alloc(&key, n, "scores of edges"));
    ETX_TRY(scratch.alloc(&sorted, n, "scores of edges"));
    ETX_TRY(scratch.alloc(&best, n, "best edges"));
    ETX_TRY(etx_launch(stream, n, score_keys_kernel, key, args->score,
        (const int32_t *)args->selected, n));
    ETX_TRY(
        etx_cuda_sort_pairs(stream, sorted, key, best, args->selected, n, 32));
    ETX_TRY(etx_launch(
        stream, max, edge_keys_kernel, key, (const int32_t *)best, max));
    ETX_TRY(
        etx_cuda_sort(stream, sorted, key, max, etx_bits_of(args->n_edges)));
    return etx_launch(stream, max, edges_kernel, args->selected,
        (const uint64_t *)sorted, max);
}

etx_status etx_cuda_edge_select(
    struct etx_stream *stream, const struct etx_edge_select_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    int64_t *count = NULL;
    int64_t n = 0;

    if (args->n_edges > 0) {
        ETX_TRY(scratch.alloc(&count, 1, "edges above the cut"));
        ETX_TRY(etx_cuda_pick_above(stream, args->selected, count, args->score,
            args->cut, NULL, NULL, args->n_edges));
        ETX_TRY(
            etx_memory_to_host(stream->memory, &n, count, 1, sizeof n));
    }
    if (args->max_selected > 0 && n > args->max_selected) {
        ETX_TRY(keep_best(stream, args, n));
        n = args->max_selected;
    }
    *args->n_selected = n;
    return ETX_OK;
}
