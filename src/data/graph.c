/* data/graph.c -- directed edges between hits, reachable from both ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/device_copy.h"
#include "op/op.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 65536 /* edges of a block of work */

static bool is_sorted(int64_t n_edges, const int32_t *src, const int32_t *dst)
{
    for (int64_t e = 1; e < n_edges; e++)
        if (dst[e] < dst[e - 1] ||
            (dst[e] == dst[e - 1] && src[e] < src[e - 1]))
            return false;
    return true;
}

etx_status etx_graph_check_size(int64_t n_nodes, int64_t n_edges)
{
    if (n_nodes > INT32_MAX || n_edges > INT32_MAX)
        return etx_fail(ETX_ERR_LIMIT,
            "graph: %" PRId64 " nodes and %" PRId64
            " edges: neither may be above %d",
            n_nodes, n_edges, INT32_MAX);
    return ETX_OK;
}

etx_status etx_graph_adopt(struct etx_graph **out, struct etx_pool *pool,
    int64_t n_nodes, int64_t n_edges, int32_t *src, int32_t *dst, float *score)
{
    struct etx_stream stream = {.pool = pool};
    struct etx_graph *graph = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_graph_check_size(n_nodes, n_edges));
    ETX_CHECK(etx_alloc(&graph, 1, sizeof *graph, "graph"));
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    ETX_CHECK(etx_alloc_uncleared(&graph->in_offset, n_nodes + 1,
        sizeof *graph->in_offset, "edges into nodes"));
    ETX_CHECK(etx_alloc_uncleared(&graph->out_offset, n_nodes + 1,
        sizeof *graph->out_offset, "edges out of nodes"));
    ETX_CHECK(etx_alloc_uncleared(
        &graph->out_edge, n_edges, sizeof *graph->out_edge, "edges by source"));
    const struct etx_graph_index_args index = {.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = src,
        .dst = dst,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .out_edge = graph->out_edge};
    ETX_CHECK(etx_op_ref.graph_index(&stream, &index));
    graph->src = src;
    graph->dst = dst;
    graph->score = score;
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_graph_adopt_ends(struct etx_graph **out, int64_t n_nodes,
    int64_t n_edges, int32_t *src, int32_t *dst)
{
    struct etx_graph *graph = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_graph_check_size(n_nodes, n_edges));
    ETX_CHECK(etx_alloc(&graph, 1, sizeof *graph, "graph"));
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    graph->src = src;
    graph->dst = dst;
    *out = graph;
done:
    return status;
}

/* Adopt arrays that belong to the caller until then: *src, *dst and *score
 * become NULL when the graph has taken them. */
static etx_status adopt_all(struct etx_graph **out, struct etx_pool *pool,
    int64_t n_nodes, int64_t n_edges, int32_t **src, int32_t **dst,
    float **score)
{
    const etx_status status =
        etx_graph_adopt(out, pool, n_nodes, n_edges, *src, *dst, *score);

    if (status == ETX_OK) {
        *src = NULL;
        *dst = NULL;
        *score = NULL;
    }
    return status;
}

/* Room for n_edges edges; score only when with_score. */
static etx_status alloc_edges(int32_t **src, int32_t **dst, float **score,
    int64_t n_edges, bool with_score)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_alloc_uncleared(src, n_edges, sizeof **src, "edge sources"));
    ETX_CHECK(
        etx_alloc_uncleared(dst, n_edges, sizeof **dst, "edge destinations"));
    if (with_score)
        ETX_CHECK(
            etx_alloc_uncleared(score, n_edges, sizeof **score, "edge scores"));
done:
    return status;
}

/* Edges to be taken, and where to. */
struct take {
    const struct etx_graph *graph;
    const int32_t *selected; /* [n_selected] */
    int64_t n_selected;
    int32_t *src, *dst;
    float *score; /* or NULL */
};

static etx_status take_block(void *argument, int64_t block, int32_t worker)
{
    const struct take *take = argument;
    const struct etx_graph *graph = take->graph;
    const int64_t begin = block * BLOCK;
    const int64_t end =
        take->n_selected - begin < BLOCK ? take->n_selected : begin + BLOCK;

    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const int32_t e = take->selected[k];

        take->src[k] = graph->src[e];
        take->dst[k] = graph->dst[e];
        if (take->score != NULL)
            take->score[k] = graph->score[e];
    }
    return ETX_OK;
}

etx_status etx_graph_subset(struct etx_graph **out, struct etx_pool *pool,
    const struct etx_graph *graph, int64_t n_selected, const int32_t *selected)
{
    struct take take = {
        .graph = graph, .selected = selected, .n_selected = n_selected};
    int32_t *src = NULL;
    int32_t *dst = NULL;
    float *score = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(
        alloc_edges(&src, &dst, &score, n_selected, graph->score != NULL));
    take.src = src;
    take.dst = dst;
    take.score = score;
    ETX_CHECK(etx_parallel_for(
        pool, (n_selected + BLOCK - 1) / BLOCK, take_block, &take));
    ETX_CHECK(
        adopt_all(out, pool, graph->n_nodes, n_selected, &src, &dst, &score));
done:
    etx_free(src);
    etx_free(dst);
    etx_free(score);
    return status;
}

/* order [n_edges]: the edges by dst, then src, equal ones in order. */
static etx_status order_edges(int32_t *order, const struct etx_edges *edges)
{
    struct etx_stream serial = {0};
    int64_t *cursor = NULL;
    int32_t *by_src = NULL;
    etx_status status = ETX_OK;
    const int64_t n_nodes = edges->n_nodes;
    const int64_t n_edges = edges->n_edges;

    if (is_sorted(n_edges, edges->src, edges->dst)) {
        for (int64_t e = 0; e < n_edges; e++)
            order[e] = (int32_t)e;
        goto done;
    }
    ETX_CHECK(
        etx_alloc_uncleared(&cursor, n_nodes + 1, sizeof *cursor, "edge sort"));
    ETX_CHECK(
        etx_alloc_uncleared(&by_src, n_edges, sizeof *by_src, "edge sort"));
    const struct etx_graph_index_args index = {.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = edges->src,
        .out_offset = cursor,
        .out_edge = by_src};
    ETX_CHECK(etx_op_ref.graph_index(&serial, &index));
    memset(cursor, 0, (size_t)(n_nodes + 1) * sizeof *cursor);
    for (int64_t e = 0; e < n_edges; e++)
        cursor[edges->dst[e] + 1]++;
    for (int64_t i = 0; i < n_nodes; i++)
        cursor[i + 1] += cursor[i];
    for (int64_t k = 0; k < n_edges; k++)
        order[cursor[edges->dst[by_src[k]]]++] = by_src[k];
done:
    etx_free(cursor);
    etx_free(by_src);
    return status;
}

etx_status etx_graph_sort(
    struct etx_graph **out, int64_t *order_out, const struct etx_edges *edges)
{
    int32_t *src = NULL;
    int32_t *dst = NULL;
    float *score = NULL;
    int32_t *order = NULL;
    etx_status status = ETX_OK;
    const int64_t n = edges->n_edges;

    ETX_CHECK(alloc_edges(&src, &dst, &score, n, edges->score != NULL));
    ETX_CHECK(etx_alloc(&order, n, sizeof *order, "edge order"));
    ETX_CHECK(order_edges(order, edges));
    for (int64_t e = 0; e < n; e++) {
        src[e] = edges->src[order[e]];
        dst[e] = edges->dst[order[e]];
        if (score != NULL)
            score[e] = edges->score[order[e]];
    }
    ETX_CHECK(adopt_all(out, NULL, edges->n_nodes, n, &src, &dst, &score));
    for (int64_t e = 0; order_out != NULL && e < n; e++)
        order_out[e] = order[e];
done:
    etx_free(src);
    etx_free(dst);
    etx_free(score);
    etx_free(order);
    return status;
}

void etx_graph_free(etx_graph *graph)
{
    if (graph == NULL)
        return;
    etx_device_copy_drop(graph);
    etx_memory_free(graph->memory, graph->src);
    etx_memory_free(graph->memory, graph->dst);
    etx_memory_free(graph->memory, graph->in_offset);
    etx_memory_free(graph->memory, graph->out_offset);
    etx_memory_free(graph->memory, graph->out_edge);
    etx_memory_free(graph->memory, graph->score);
    etx_free(graph);
}
