/* cuda/op/double_edges.cu -- the edges of a graph in both directions.
 *
 * A stable sort of the edges and, after them, their reverses, as one number
 * (dst, src) each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

/* key, edge [2 * n_edges]. */
__global__ static void keys_kernel(uint64_t *key, int32_t *edge, int32_t bits,
    struct etx_double_edges_args args)
{
    for (int64_t t = etx_first_item(); t < 2 * args.n_edges;
         t += etx_item_step()) {
        const bool is_reverse = t >= args.n_edges;
        const int64_t e = is_reverse ? t - args.n_edges : t;
        const uint64_t src = (uint64_t)(uint32_t)args.src[e];
        const uint64_t dst = (uint64_t)(uint32_t)args.dst[e];

        key[t] = is_reverse ? src << bits | dst : dst << bits | src;
        edge[t] = (int32_t)t;
    }
}

/* Sorted keys [2 * n_edges] to both ends, and edge, the order of the sort, to
 * its inverse. */
__global__ static void scatter_kernel(const uint64_t *key, const int32_t *edge,
    int32_t bits, struct etx_double_edges_args args)
{
    const uint64_t low = ((uint64_t)1 << bits) - 1;

    for (int64_t t = etx_first_item(); t < 2 * args.n_edges;
         t += etx_item_step()) {
        args.both_dst[t] = (int32_t)(key[t] >> bits);
        args.both_src[t] = (int32_t)(key[t] & low);
        args.slot[edge[t]] = (int32_t)t;
    }
}

etx_status etx_cuda_double_edges(
    struct etx_stream *stream, const struct etx_double_edges_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = 2 * args->n_edges;
    const int32_t bits = etx_bits_of(args->n_nodes);
    uint64_t *key = NULL;
    uint64_t *sorted = NULL;
    int32_t *edge = NULL;
    int32_t *order = NULL;

    ETX_TRY(scratch.alloc_all(
        n, "edges of both directions", &key, &sorted, &edge, &order));
    ETX_TRY(etx_launch(stream, n, keys_kernel, key, edge, bits, *args));
    ETX_TRY(etx_cuda_sort_pairs(stream, sorted, key, order, edge, n, 2 * bits));
    return etx_launch(stream, n, scatter_kernel, (const uint64_t *)sorted,
        (const int32_t *)order, bits, *args);
}
