/* cuda/op/graph_index.cu -- where the edges of every node are, and how many.
 *
 * Edges by source are a stable sort; offsets are found where the ends change.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

__global__ static void keys_kernel(
    uint64_t *key, int32_t *edge, const int32_t *src, int64_t n_edges)
{
    for (int64_t e = etx_first_item(); e < n_edges; e += etx_item_step()) {
        key[e] = (uint64_t)(uint32_t)src[e];
        edge[e] = (int32_t)e;
    }
}

/* source [n_edges]: that of each edge, sorted. */
__global__ static void offsets_kernel(
    struct etx_graph_index_args args, const uint64_t *source)
{
    for (int64_t e = etx_first_item(); e <= args.n_edges;
         e += etx_item_step()) {
        etx_begin_runs(
            args.out_offset, source, 0, e, args.n_nodes, args.n_edges);
        if (args.in_offset != NULL)
            etx_begin_runs(
                args.in_offset, args.dst, 0, e, args.n_nodes, args.n_edges);
    }
}

etx_status etx_cuda_graph_index(
    struct etx_stream *stream, const struct etx_graph_index_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = args->n_edges;
    uint64_t *key = NULL;
    uint64_t *sorted = NULL;
    int32_t *edge = NULL;

    ETX_TRY(scratch.alloc_all(n, "edges by source", &key, &sorted, &edge));
    ETX_TRY(etx_launch(stream, n, keys_kernel, key, edge, args->src, n));
    ETX_TRY(etx_cuda_sort_pairs(stream, sorted, key, args->out_edge, edge, n,
        etx_bits_of(args->n_nodes)));
    return etx_launch(
        stream, n + 1, offsets_kernel, *args, (const uint64_t *)sorted);
}

__global__ static void degrees_kernel(struct etx_degrees_args args)
{
    const int64_t *in = args.in_offset;
    const int64_t *out = args.out_offset;

    for (int64_t i = etx_first_item(); i < args.n_nodes; i += etx_item_step())
        args.degree[i] = (float)(1 + in[i + 1] - in[i] + out[i + 1] - out[i]);
}

__global__ static void edge_weights_kernel(struct etx_degree_weights_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step())
        args.edge_weight[e] =
            (float)(1.0 / sqrt((double)args.degree[args.src[e]] *
                               (double)args.degree[args.dst[e]]));
}

__global__ static void loops_kernel(struct etx_degree_weights_args args)
{
    for (int64_t i = etx_first_item(); i <= args.n_nodes;
         i += etx_item_step()) {
        args.loop_offset[i] = i;
        if (i < args.n_nodes)
            args.loop_weight[i] = (float)(1.0 / (double)args.degree[i]);
    }
}

ETX_CUDA_PER_ITEM(degrees, args->n_nodes)

etx_status etx_cuda_degree_weights(
    struct etx_stream *stream, const struct etx_degree_weights_args *args)
{
    ETX_TRY(etx_launch(stream, args->n_edges, edge_weights_kernel, *args));
    return etx_launch(stream, args->n_nodes + 1, loops_kernel, *args);
}
