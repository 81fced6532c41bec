/* op/simd/kernels/line_graph.c -- doublets as nodes, joined where they share a
 * hit.
 *
 * The doublets into a hit have consecutive numbers. So the edges into a doublet
 * have consecutive sources, and both lists are written in order, without a sort
 * and without a branch per edge. A hit with doublets 4 5 6 into it, and 9 and
 * 12 out of it:
 *
 *   edges by destination    src 4 5 6      dst  9  9  9    rows r9 .. r9 + 2
 *                           src 4 5 6      dst 12 12 12    rows r12 .. r12 + 2
 *   out_edge, by source     of 4           r9      r12
 *                           of 5           r9 + 1  r12 + 1
 *                           of 6           r9 + 2  r12 + 2
 *
 * Blocks of doublets count their edges, the counts are summed, and the blocks
 * write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "op/simd/vector.h"

#include <inttypes.h>

#define BLOCK       4096 /* doublets of a block */
#define BLOCK_NODES 1024
#define OUT_COLUMNS 256 /* doublets out of a hit that are taken together */
#define FEW         4   /* doublets into a hit that need no vectors */

/* Edges of a block of doublets, into them and out of them; then the offset of
 * the first. */
struct offsets {
    int64_t in, out;
};

struct job {
    const struct etx_line_graph_args *args;
    const struct etx_stream *stream;
    struct etx_line_graph graph;
    struct offsets *offsets; /* [n_blocks] */
};

/* Offsets within the block, and its number of edges. */
static etx_status count_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    const struct etx_line_graph_args *args = job->args;
    struct offsets sum = {0, 0};
    etx_status status;

    (void)worker;
    ETX_CHECK(etx_check_cancelled(job->stream));
    for (int64_t a = begin; a < end; a++) {
        const int32_t src = args->src[a];
        const int32_t dst = args->dst[a];
        job->graph.in_offset[a] = sum.in;
        job->graph.out_offset[a] = sum.out;
        sum.in += args->in_offset[src + 1] - args->in_offset[src];
        sum.out += args->out_offset[dst + 1] - args->out_offset[dst];
    }
    job->offsets[begin / BLOCK] = sum;
done:
    return status;
}

static etx_status sum_counts(struct job *job, int64_t n_blocks)
{
    const int64_t n = job->args->n_doublets;
    struct offsets sum = {0, 0};

    for (int64_t b = 0; b < n_blocks; b++) {
        const struct offsets count = job->offsets[b];
        job->offsets[b] = sum;
        sum.in += count.in;
        sum.out += count.out;
    }
    job->graph.n_edges = sum.in;
    job->graph.in_offset[n] = sum.in;
    job->graph.out_offset[n] = sum.out;
    if (sum.in <= job->args->max_edges)
        return ETX_OK;
    return etx_fail(ETX_ERR_LIMIT,
        "line_graph: %" PRId64 " edges between %" PRId64
        " doublets are more than max_edges = %" PRId64,
        sum.in, n, job->args->max_edges);
}

/* 0, 1, ... */
static veci lanes(void)
{
    int32_t lane[VEC_WIDTH];

    for (int32_t t = 0; t < VEC_WIDTH; t++)
        lane[t] = t;
    return vi_load(lane);
}

/* Final offsets, and the rows of the doublets of a block. */
static etx_status fill_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    const struct etx_line_graph_args *args = job->args;
    const struct etx_line_graph *graph = &job->graph;
    const struct offsets offsets = job->offsets[begin / BLOCK];
    const veci lane = lanes();
    int64_t edge = offsets.in;
    etx_status status;

    (void)worker;
    ETX_CHECK(etx_check_cancelled(job->stream));
    for (int64_t b = begin; b < end; b++) {
        const int64_t first = args->in_offset[args->src[b]];
        const int64_t n = args->in_offset[args->src[b] + 1] - first;
        const veci dst = vi_set1((int32_t)b);
        graph->in_offset[b] = edge;
        graph->out_offset[b] += offsets.out;
        for (int64_t t = 0; t < n; t += VEC_WIDTH) {
            const int64_t left = n - t < VEC_WIDTH ? n - t : VEC_WIDTH;
            const vmask mask = v_first((int32_t)left);
            vi_store_mask(graph->src + edge + t,
                vi_add(vi_set1((int32_t)(first + t)), lane), mask);
            vi_store_mask(graph->dst + edge + t, dst, mask);
        }
        edge += n;
    }
done:
    return status;
}

/* A hit, and the edges from its doublets in to its doublets out. */
struct hit {
    int64_t n_in, n_out;    /* doublets into it, and out of it */
    const int32_t *doublet; /* [n_out] out of it */
    int32_t *out;           /* [n_in, n_out] edges by source, see above */
};

/* For few doublets into the hit. */
static void fill_out_few(const struct hit *hit, const int64_t *in_offset)
{
    int32_t *out = hit->out;

    for (int64_t a = 0; a < hit->n_in; a++)
        for (int64_t t = 0; t < hit->n_out; t++)
            *out++ = (int32_t)(in_offset[hit->doublet[t]] + a);
}

/* Columns from .. from + n - 1 of all rows; begin [OUT_COLUMNS] is scratch. */
static void fill_out_columns(int32_t *begin, const struct hit *hit,
    int64_t from, int64_t n, const int64_t *in_offset)
{
    int32_t *out = hit->out + from;

    for (int64_t t = 0; t < n; t++)
        begin[t] = (int32_t)in_offset[hit->doublet[from + t]];
    for (int64_t a = 0; a < hit->n_in; a++) {
        const veci row = vi_set1((int32_t)a);
        for (int64_t t = 0; t < n; t += VEC_WIDTH) {
            const int64_t left = n - t < VEC_WIDTH ? n - t : VEC_WIDTH;
            vi_store_mask(out + t, vi_add(vi_load(begin + t), row),
                v_first((int32_t)left));
        }
        out += hit->n_out;
    }
}

static etx_status fill_out_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    const struct etx_line_graph_args *args = job->args;
    const struct etx_line_graph *graph = &job->graph;
    int32_t columns[OUT_COLUMNS] = {0};
    etx_status status;

    (void)worker;
    ETX_CHECK(etx_check_cancelled(job->stream));
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = args->in_offset[i];
        const struct hit hit = {.n_in = args->in_offset[i + 1] - first,
            .n_out = args->out_offset[i + 1] - args->out_offset[i],
            .doublet = args->out_doublet + args->out_offset[i],
            .out = graph->out_edge + graph->out_offset[first]};
        if (hit.n_in <= FEW) {
            fill_out_few(&hit, graph->in_offset);
            continue;
        }
        for (int64_t t = 0; t < hit.n_out; t += OUT_COLUMNS)
            fill_out_columns(columns, &hit, t,
                hit.n_out - t < OUT_COLUMNS ? hit.n_out - t : OUT_COLUMNS,
                graph->in_offset);
    }
done:
    return status;
}

static etx_status make(struct job *job, struct etx_stream *stream)
{
    const struct etx_line_graph_args *args = job->args;
    struct etx_line_graph *graph = &job->graph;
    const int64_t n_blocks = (args->n_doublets + BLOCK - 1) / BLOCK;
    etx_status status;

    ETX_SCRATCH(job->offsets, stream->arena, n_blocks, "blocks of doublets");
    ETX_CHECK(etx_alloc_uncleared(&graph->in_offset, args->n_doublets + 1,
        sizeof *graph->in_offset, "edges into doublets"));
    ETX_CHECK(etx_alloc_uncleared(&graph->out_offset, args->n_doublets + 1,
        sizeof *graph->out_offset, "edges out of doublets"));
    ETX_CHECK(etx_parallel_ranges(
        stream->pool, args->n_doublets, BLOCK, count_block, job));
    ETX_CHECK(sum_counts(job, n_blocks));
    ETX_CHECK(etx_alloc_uncleared(&graph->src, graph->n_edges,
        sizeof *graph->src, "sources of triplets"));
    ETX_CHECK(etx_alloc_uncleared(&graph->dst, graph->n_edges,
        sizeof *graph->dst, "targets of triplets"));
    ETX_CHECK(etx_alloc_uncleared(&graph->out_edge, graph->n_edges,
        sizeof *graph->out_edge, "triplets by source"));
    ETX_CHECK(etx_parallel_ranges(
        stream->pool, args->n_doublets, BLOCK, fill_block, job));
    ETX_CHECK(etx_parallel_ranges(
        stream->pool, args->n_nodes, BLOCK_NODES, fill_out_block, job));
done:
    return status;
}

etx_status ETX_ISA_NAME(line_graph)(
    struct etx_stream *stream, const struct etx_line_graph_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct job job = {.args = args, .stream = stream};
    const etx_status status = make(&job, stream);

    if (status == ETX_OK) {
        *args->out = job.graph;
    } else {
        etx_free(job.graph.src);
        etx_free(job.graph.dst);
        etx_free(job.graph.in_offset);
        etx_free(job.graph.out_offset);
        etx_free(job.graph.out_edge);
    }
    etx_arena_reset(stream->arena, mark);
    return status;
}
