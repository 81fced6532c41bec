/* cuda/op/edge_select.cu -- edges by their score: those above a cut, at most n,
 * outward, or the best at both of their ends.
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

    ETX_TRY(scratch.alloc_all(n, "scores of edges", &key, &sorted, &best));
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
        ETX_TRY(etx_memory_to_host(stream->memory, &n, count, 1, sizeof n));
    }
    if (args->max_selected > 0 && n > args->max_selected) {
        ETX_TRY(keep_best(stream, args, n));
        n = args->max_selected;
    }
    *args->n_selected = n;
    return ETX_OK;
}

/* picked [*args.n]: the edges. */
__global__ static void turn_kernel(
    const int32_t *picked, struct etx_outward_edges_args args)
{
    for (int64_t k = etx_first_item(); k < *args.n; k += etx_item_step()) {
        const int32_t e = picked[k];
        const int32_t a = args.src[e];
        const int32_t b = args.dst[e];
        const bool is_outward =
            args.key[a] < args.key[b] || (a < b && args.key[a] == args.key[b]);

        args.tail[k] = is_outward ? a : b;
        args.head[k] = is_outward ? b : a;
        args.score[k] = args.edge_score[e];
    }
}

etx_status etx_cuda_outward_edges(
    struct etx_stream *stream, const struct etx_outward_edges_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = args->n_edges;
    int32_t *picked = NULL;

    ETX_CUDA(cudaMemsetAsync(
        args->n, 0, sizeof *args->n, etx_cuda_of(stream)->stream));
    if (n == 0)
        return ETX_OK;
    ETX_TRY(scratch.alloc(&picked, n, "edges of tracks"));
    ETX_TRY(etx_cuda_pick_above(stream, picked, args->n, args->edge_score,
        args->cut, args->src, args->dst, n));
    return etx_launch(stream, n, turn_kernel, (const int32_t *)picked, *args);
}

/* best_out, best_in [n_nodes], zero before. */
__global__ static void best_kernel(unsigned long long *best_out,
    unsigned long long *best_in, struct etx_mutual_best_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step()) {
        if (!(args.score[e] > args.cut))
            continue;
        atomicMax(&best_out[args.src[e]], etx_rank(args.score[e], e));
        atomicMax(&best_in[args.dst[e]], etx_rank(args.score[e], e));
    }
}

__global__ static void best_flag_kernel(uint8_t *flag,
    const unsigned long long *best_out, const unsigned long long *best_in,
    struct etx_mutual_best_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step())
        flag[e] = args.score[e] > args.cut &&
                  best_out[args.src[e]] == etx_rank(args.score[e], e) &&
                  best_in[args.dst[e]] == etx_rank(args.score[e], e);
}

etx_status etx_cuda_mutual_best(
    struct etx_stream *stream, const struct etx_mutual_best_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    const size_t bytes = (size_t)args->n_nodes * sizeof(unsigned long long);
    unsigned long long *best_out = NULL;
    unsigned long long *best_in = NULL;
    uint8_t *flag = NULL;

    ETX_TRY(scratch.alloc_all(
        args->n_nodes, "best edges of nodes", &best_out, &best_in));
    ETX_TRY(scratch.alloc(&flag, args->n_edges, "best edges"));
    ETX_CUDA(cudaMemsetAsync(best_out, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(best_in, 0, bytes, queue));
    ETX_TRY(etx_launch(
        stream, args->n_edges, best_kernel, best_out, best_in, *args));
    ETX_TRY(etx_launch(stream, args->n_edges, best_flag_kernel, flag,
        (const unsigned long long *)best_out,
        (const unsigned long long *)best_in, *args));
    return etx_cuda_compact(
        stream, args->selected, args->n_selected, flag, args->n_edges);
}
