/* cuda/op/edge_list.cu -- edges by (dst, src).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"

#include "cuda/op/primitives.h"

__global__ static void split_kernel(int32_t *src, int32_t *dst,
    const uint64_t *edge, int64_t n_edges, int32_t shift)
{
    for (int64_t e = etx_first_item(); e < n_edges; e += etx_item_step()) {
        src[e] = (int32_t)(edge[e] & (((uint64_t)1 << shift) - 1));
        dst[e] = (int32_t)(edge[e] >> shift);
    }
}

etx_status etx_cuda_return_edges(struct etx_stream *stream,
    struct etx_edge_list *out, const uint64_t *edge, int64_t n_edges,
    int32_t shift)
{
    struct etx_cuda_scratch scratch(stream);
    etx_cuda_owned<int32_t> src(stream->memory);
    etx_cuda_owned<int32_t> dst(stream->memory);
    uint64_t *sorted = NULL;

    ETX_TRY(scratch.alloc(&sorted, n_edges, "edges in order"));
    ETX_TRY(src.alloc(n_edges, "sources of edges"));
    ETX_TRY(dst.alloc(n_edges, "targets of edges"));
    ETX_TRY(etx_cuda_sort(stream, sorted, edge, n_edges, 2 * shift));
    ETX_TRY(etx_launch(stream, n_edges, split_kernel, src.data, dst.data,
        (const uint64_t *)sorted, n_edges, shift));
    out->n_edges = n_edges;
    out->src = src.release();
    out->dst = dst.release();
    return ETX_OK;
}
