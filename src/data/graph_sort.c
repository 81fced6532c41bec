/* data/graph_sort.c -- edges of a caller, in any order, to a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph.h"

#include "base/check.h"
#include "base/heap.h"

#include <stdbool.h>
#include <string.h>

static bool is_sorted(int64_t n_edges, const int32_t *src, const int32_t *dst)
{
    for (int64_t e = 1; e < n_edges; e++)
        if (dst[e] < dst[e - 1] ||
            (dst[e] == dst[e - 1] && src[e] < src[e - 1]))
            return false;
    return true;
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

/* src, dst and score (NULL: none) [n_edges] = the edges in this order. */
static void copy_edges(int32_t *src, int32_t *dst, float *score,
    const struct etx_edges *edges, const int32_t *order)
{
    for (int64_t e = 0; e < edges->n_edges; e++) {
        src[e] = edges->src[order[e]];
        dst[e] = edges->dst[order[e]];
        if (score != NULL)
            score[e] = edges->score[order[e]];
    }
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

    ETX_CHECK(etx_alloc_uncleared(&src, n, sizeof *src, "edge sources"));
    ETX_CHECK(etx_alloc_uncleared(&dst, n, sizeof *dst, "edge destinations"));
    if (edges->score != NULL)
        ETX_CHECK(etx_alloc_uncleared(&score, n, sizeof *score, "edge scores"));
    ETX_CHECK(etx_alloc(&order, n, sizeof *order, "edge order"));
    ETX_CHECK(order_edges(order, edges));
    copy_edges(src, dst, score, edges, order);
    ETX_CHECK(etx_graph_adopt(out, NULL, edges->n_nodes, n, src, dst, score));
    src = dst = NULL;
    score = NULL;
    for (int64_t e = 0; order_out != NULL && e < n; e++)
        order_out[e] = order[e];
done:
    etx_free(src);
    etx_free(dst);
    etx_free(score);
    etx_free(order);
    return status;
}
