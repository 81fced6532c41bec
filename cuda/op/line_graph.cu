/* cuda/op/line_graph.cu -- doublets to triplets.
 *
 * The edges into doublet b come from the doublets that end where b begins,
 * which are contiguous: count, sum, fill. Their offsets are known without a
 * sort, also as seen from the sources.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

#include <inttypes.h>

/* Edges into and out of every doublet; [n_doublets + 1], the last 0. */
__global__ static void count_kernel(
    int64_t *n_in, int64_t *n_out, struct etx_line_graph_args args)
{
    for (int64_t a = etx_first_item(); a <= args.n_doublets;
         a += etx_item_step()) {
        const int32_t is_last = a == args.n_doublets;
        const int64_t from = is_last ? 0 : args.src[a];
        const int64_t to = is_last ? 0 : args.dst[a];

        n_in[a] = is_last ? 0 : args.in_offset[from + 1] - args.in_offset[from];
        n_out[a] = is_last ? 0 : args.out_offset[to + 1] - args.out_offset[to];
    }
}

__global__ static void fill_in_kernel(int32_t *src, int32_t *dst,
    const int64_t *in_offset, struct etx_line_graph_args args)
{
    for (int64_t b = etx_first_item(); b < args.n_doublets;
         b += etx_item_step()) {
        const int64_t first = args.in_offset[args.src[b]];

        for (int64_t e = in_offset[b]; e < in_offset[b + 1]; e++) {
            src[e] = (int32_t)(first + e - in_offset[b]);
            dst[e] = (int32_t)b;
        }
    }
}

__global__ static void fill_out_kernel(int32_t *out_edge,
    const int64_t *in_offset, const int64_t *out_offset,
    struct etx_line_graph_args args)
{
    for (int64_t a = etx_first_item(); a < args.n_doublets;
         a += etx_item_step()) {
        const int64_t node = args.dst[a];
        const int64_t offset = a - args.in_offset[node];
        const int64_t first = args.out_offset[node];

        for (int64_t t = out_offset[a]; t < out_offset[a + 1]; t++) {
            const int32_t b = args.out_doublet[first + t - out_offset[a]];

            out_edge[t] = (int32_t)(in_offset[b] + offset);
        }
    }
}

/* Offsets of both ends, and how many edges there are. */
static etx_status make_offsets(struct etx_stream *stream, int64_t *in_offset,
    int64_t *out_offset, int64_t *n_edges,
    const struct etx_line_graph_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = args->n_doublets + 1;
    int64_t *n_in = NULL;
    int64_t *n_out = NULL;

    ETX_TRY(scratch.alloc_all(n, "edges of doublets", &n_in, &n_out));
    ETX_TRY(etx_launch(stream, n, count_kernel, n_in, n_out, *args));
    ETX_TRY(etx_cuda_sums_before(stream, in_offset, n_in, n));
    ETX_TRY(etx_cuda_sums_before(stream, out_offset, n_out, n));
    return etx_memory_to_host(stream->memory, n_edges,
        in_offset + args->n_doublets, 1, sizeof *n_edges);
}

etx_status etx_cuda_line_graph(
    struct etx_stream *stream, const struct etx_line_graph_args *args)
{
    etx_cuda_owned<int64_t> in_offset(stream->memory);
    etx_cuda_owned<int64_t> out_offset(stream->memory);
    etx_cuda_owned<int32_t> src(stream->memory);
    etx_cuda_owned<int32_t> dst(stream->memory);
    etx_cuda_owned<int32_t> out_edge(stream->memory);
    const int64_t n = args->n_doublets;
    int64_t n_edges = 0;

    ETX_TRY(in_offset.alloc(n + 1, "edges into doublets"));
    ETX_TRY(out_offset.alloc(n + 1, "edges out of doublets"));
    ETX_TRY(
        make_offsets(stream, in_offset.data, out_offset.data, &n_edges, args));
    if (n_edges > args->max_edges)
        return etx_fail(ETX_ERR_LIMIT,
            "line_graph: %" PRId64 " edges among %" PRId64
            " doublets are more than max_edges = %" PRId64,
            n_edges, n, args->max_edges);
    ETX_TRY(src.alloc(n_edges, "sources of edges"));
    ETX_TRY(dst.alloc(n_edges, "targets of edges"));
    ETX_TRY(out_edge.alloc(n_edges, "edges by source"));
    ETX_TRY(etx_launch(stream, n, fill_in_kernel, src.data, dst.data,
        (const int64_t *)in_offset.data, *args));
    ETX_TRY(etx_launch(stream, n, fill_out_kernel, out_edge.data,
        (const int64_t *)in_offset.data, (const int64_t *)out_offset.data,
        *args));
    args->out->n_edges = n_edges;
    args->out->src = src.release();
    args->out->dst = dst.release();
    args->out->in_offset = in_offset.release();
    args->out->out_offset = out_offset.release();
    args->out->out_edge = out_edge.release();
    return ETX_OK;
}
