/* op/ref/graph_index.c -- the edges of every node: compressed sparse rows.
 *
 * By target the edges are sorted already. By source, a counting sort in two
 * steps: writing straight to 100 000 cursors misses the cache with every edge,
 * so edges go to bins of neighbouring sources first, as many as the cache has
 * lines to append to, and then to their slots bin by bin. Blocks of edges are
 * counted before they are spread, which keeps the order for any number of
 * threads.
 *
 *     src      3 0 2 0 1 ...                  as given
 *     in_bins  (0,1) (0,3) (1,4) | (3,0) (2,2) ...  (source, edge) by bin
 *     out_edge 1 3 4 | 2 0 ...                edges by (source, edge)
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

#define MAX_BINS 256
#define BLOCK    65536 /* edges of a block */

struct job {
    const int32_t *src;
    int32_t *order;
    int64_t *offset;
    int64_t n_nodes, n_edges, n_bins;
    int32_t shift;          /* source >> shift is its bin */
    uint32_t *block_cursor; /* [n_blocks, MAX_BINS] counts, then offsets */
    uint32_t *begin;        /* [n_bins + 1] of the bins */
    uint64_t *in_bins;      /* [n_edges] (source, edge) */
    uint32_t *cursor;       /* [workers, 1 << shift] */
};

static etx_status count_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    const int32_t shift = job->shift;
    uint32_t *block_cursor = job->block_cursor + begin / BLOCK * MAX_BINS;

    (void)worker;
    memset(block_cursor, 0, MAX_BINS * sizeof *block_cursor);
    for (int64_t e = begin; e < end; e++)
        block_cursor[job->src[e] >> shift]++;
    return ETX_OK;
}

static void sum_counts(struct job *job, int64_t n_blocks)
{
    uint32_t sum = 0;

    for (int64_t bin = 0; bin < job->n_bins; bin++) {
        job->begin[bin] = sum;
        for (int64_t b = 0; b < n_blocks; b++) {
            const uint32_t count = job->block_cursor[b * MAX_BINS + bin];
            job->block_cursor[b * MAX_BINS + bin] = sum;
            sum += count;
        }
    }
    job->begin[job->n_bins] = sum;
}

static etx_status spread_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    const int32_t shift = job->shift;
    uint32_t *block_cursor = job->block_cursor + begin / BLOCK * MAX_BINS;

    (void)worker;
    for (int64_t e = begin; e < end; e++) {
        const uint32_t src = (uint32_t)job->src[e];
        job->in_bins[block_cursor[src >> shift]++] =
            (uint64_t)src << 32 | (uint64_t)e;
    }
    return ETX_OK;
}

static etx_status sort_bin(void *argument, int64_t bin, int32_t worker)
{
    const struct job *job = argument;
    const int64_t first = bin << job->shift;
    const int64_t left = job->n_nodes - first;
    const int64_t max = INT64_C(1) << job->shift;
    const int64_t n_nodes = left < max ? left : max;
    const uint64_t *from = job->in_bins + job->begin[bin];
    const int64_t n = (int64_t)job->begin[bin + 1] - job->begin[bin];
    uint32_t *cursor = job->cursor + worker * max;
    uint32_t sum = job->begin[bin];

    memset(cursor, 0, (size_t)n_nodes * sizeof *cursor);
    for (int64_t t = 0; t < n; t++)
        cursor[(int64_t)(from[t] >> 32) - first]++;
    for (int64_t i = 0; i < n_nodes; i++) {
        const uint32_t count = cursor[i];
        job->offset[first + i] = sum;
        cursor[i] = sum;
        sum += count;
    }
    for (int64_t t = 0; t < n; t++)
        job->order[cursor[(int64_t)(from[t] >> 32) - first]++] =
            (int32_t)(uint32_t)from[t];
    return ETX_OK;
}

/* out_edge and out_offset. */
static etx_status sort_by_source(
    struct etx_pool *pool, const struct etx_graph_index_args *args)
{
    const int64_t n_nodes = args->n_nodes;
    const int64_t n_edges = args->n_edges;
    const int64_t n_blocks = (n_edges + BLOCK - 1) / BLOCK;
    const int32_t n_workers = etx_pool_n_threads(pool);
    struct job job = {.src = args->src,
        .order = args->out_edge,
        .offset = args->out_offset,
        .n_nodes = n_nodes,
        .n_edges = n_edges};
    etx_status status;

    while ((n_nodes - 1) >> job.shift >= MAX_BINS)
        job.shift++;
    job.n_bins = n_nodes == 0 ? 0 : ((n_nodes - 1) >> job.shift) + 1;
    ETX_CHECK(etx_alloc_uncleared(&job.block_cursor, n_blocks * MAX_BINS,
        sizeof *job.block_cursor, "edges by source"));
    ETX_CHECK(etx_alloc_uncleared(
        &job.begin, job.n_bins + 1, sizeof *job.begin, "edges by source"));
    ETX_CHECK(etx_alloc_uncleared(
        &job.in_bins, n_edges, sizeof *job.in_bins, "edges by source"));
    ETX_CHECK(
        etx_alloc_uncleared(&job.cursor, n_workers * (INT64_C(1) << job.shift),
            sizeof *job.cursor, "edges by source"));
    ETX_CHECK(etx_parallel_ranges(pool, job.n_edges, BLOCK, count_block, &job));
    sum_counts(&job, n_blocks);
    ETX_CHECK(
        etx_parallel_ranges(pool, job.n_edges, BLOCK, spread_block, &job));
    ETX_CHECK(etx_parallel_for(pool, job.n_bins, sort_bin, &job));
    args->out_offset[n_nodes] = n_edges;
done:
    etx_free(job.block_cursor);
    etx_free(job.begin);
    etx_free(job.in_bins);
    etx_free(job.cursor);
    return status;
}

/* offset [n_nodes + 1] of the runs of equal values in ends [n_edges], which
 * ascend. */
static void find_runs(
    int64_t *offset, int64_t n_nodes, int64_t n_edges, const int32_t *ends)
{
    int64_t next = 0;

    for (int64_t e = 0; e < n_edges; e++)
        while (next <= ends[e])
            offset[next++] = e;
    while (next <= n_nodes)
        offset[next++] = n_edges;
}

etx_status etx_ref_graph_index(
    struct etx_stream *stream, const struct etx_graph_index_args *args)
{
    if (args->in_offset != NULL)
        find_runs(args->in_offset, args->n_nodes, args->n_edges, args->dst);
    return sort_by_source(stream->pool, args);
}
