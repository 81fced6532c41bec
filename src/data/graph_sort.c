/* data/graph_sort.c -- edges of a caller, in any order, to a graph.
 *
 * Two stable sorts, by src and then by dst.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"

#include <stdbool.h>

struct sort {
    const struct etx_edges *edges;
    const struct etx_op_table *ops;
    struct etx_stream *stream;
    const struct etx_memory *memory;
    int64_t *offset; /* [n_nodes + 1] */
    int32_t *by_src; /* [n_edges] */
    int32_t *by_dst; /* [n_edges] of the edges in that order */
    int32_t *order;  /* [n_edges] the edges by dst, then src */
    int32_t *src, *dst;
    float *score; /* NULL without */
};

static etx_status allocate(struct sort *sort)
{
    const struct etx_memory *memory = sort->memory;
    const int64_t n = sort->edges->n_edges;
    etx_status status;

    ETX_ALLOC(sort->offset, memory, sort->edges->n_nodes + 1, "edge sort");
    ETX_ALLOC(sort->by_src, memory, n, "edge sort");
    ETX_ALLOC(sort->by_dst, memory, n, "edge sort");
    ETX_ALLOC(sort->order, memory, n, "edge order");
    ETX_ALLOC(sort->src, memory, n, "edge sources");
    ETX_ALLOC(sort->dst, memory, n, "edge destinations");
    if (sort->edges->score != NULL)
        ETX_ALLOC(sort->score, memory, n, "edge scores");
done:
    return status;
}

static void release(const struct sort *sort)
{
    etx_memory_free(sort->memory, sort->offset);
    etx_memory_free(sort->memory, sort->by_src);
    etx_memory_free(sort->memory, sort->by_dst);
    etx_memory_free(sort->memory, sort->order);
    etx_memory_free(sort->memory, sort->src);
    etx_memory_free(sort->memory, sort->dst);
    etx_memory_free(sort->memory, sort->score);
}

/* order [n_edges] = edges by their ends, equal ones in order. */
static etx_status sort_ends(
    const struct sort *sort, int32_t *order, const int32_t *ends)
{
    const struct etx_graph_index_args args = {.n_nodes = sort->edges->n_nodes,
        .n_edges = sort->edges->n_edges,
        .src = ends,
        .out_offset = sort->offset,
        .out_edge = order};

    return sort->ops->graph_index(sort->stream, &args);
}

/* y [n_edges] = x[index]. */
static etx_status gather(
    const struct sort *sort, int32_t *y, const int32_t *x, const int32_t *index)
{
    const struct etx_gather_edges_args args = {
        .n = sort->edges->n_edges, .index = index, .src = x, .src_out = y};

    return sort->ops->gather_edges(sort->stream, &args);
}

/* order = the edges as given, up to the first that is out of order. */
static etx_status find_sorted(bool *is_sorted, const struct sort *sort)
{
    const int32_t *src = sort->edges->src;
    const int32_t *dst = sort->edges->dst;
    etx_status status = ETX_OK;

    for (int64_t e = 0; e < sort->edges->n_edges; e++) {
        ETX_POLL(e);
        if (e > 0 && (dst[e] < dst[e - 1] ||
                         (dst[e] == dst[e - 1] && src[e] < src[e - 1])))
            goto done;
        sort->order[e] = (int32_t)e;
    }
    *is_sorted = true;
done:
    return status;
}

static etx_status order_edges(const struct sort *sort)
{
    bool is_sorted = false;
    etx_status status = ETX_OK;

    if (sort->memory == NULL)
        ETX_CHECK(find_sorted(&is_sorted, sort));
    if (is_sorted)
        goto done;
    ETX_CHECK(sort_ends(sort, sort->by_src, sort->edges->src));
    ETX_CHECK(gather(sort, sort->dst, sort->edges->dst, sort->by_src));
    ETX_CHECK(sort_ends(sort, sort->by_dst, sort->dst));
    ETX_CHECK(gather(sort, sort->order, sort->by_src, sort->by_dst));
done:
    return status;
}

/* src, dst and score = the edges in this order. */
static etx_status copy_edges(const struct sort *sort)
{
    const struct etx_gather_edges_args args = {.n = sort->edges->n_edges,
        .index = sort->order,
        .src = sort->edges->src,
        .dst = sort->edges->dst,
        .score = sort->edges->score,
        .src_out = sort->src,
        .dst_out = sort->dst,
        .score_out = sort->score};

    return sort->ops->gather_edges(sort->stream, &args);
}

/* The order, on the host. */
static etx_status copy_order(int64_t *order_out, const struct sort *sort)
{
    const int64_t n = sort->edges->n_edges;
    int32_t *order = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(&order, n, sizeof *order, "edge order"));
    ETX_CHECK(
        etx_memory_to_host(sort->memory, order, sort->order, n, sizeof *order));
    for (int64_t e = 0; e < n; e++) {
        ETX_POLL(e);
        order_out[e] = order[e];
    }
done:
    etx_free(order);
    return status;
}

etx_status etx_graph_sort(struct etx_graph **out, int64_t *order_out,
    struct etx_context *context, const struct etx_edges *edges)
{
    struct etx_stream serial = {0};
    struct sort sort = {.edges = edges, .ops = &etx_op_ref, .stream = &serial};
    struct etx_graph *graph = NULL;
    etx_status status;

    if (context != NULL) {
        sort.ops = context->ops;
        sort.stream = context->stream;
        sort.memory = context->stream->memory;
    }
    ETX_CHECK(allocate(&sort));
    ETX_CHECK(order_edges(&sort));
    ETX_CHECK(copy_edges(&sort));
    ETX_CHECK(etx_graph_adopt(&graph, context, edges->n_nodes, edges->n_edges,
        sort.src, sort.dst, sort.score));
    sort.src = sort.dst = NULL;
    sort.score = NULL;
    if (order_out != NULL)
        ETX_CHECK(copy_order(order_out, &sort));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    release(&sort);
    return status;
}
