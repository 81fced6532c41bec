/* data/graph.h -- directed edges between hits, reachable from both ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_GRAPH_H
#define ETX_DATA_GRAPH_H

#include <exatrkx/graph.h>

#include "op/op.h"

struct etx_device_copy;
struct etx_halo;

/* Edges sorted by (dst, src). Arrays are allocated at the graph's place, which
 * is the host for every graph that a caller sees, and owned by the graph.
 * n_edges and n_nodes are at most 2^31 - 1. A graph of ends alone has no
 * offsets and no out_edge: NULL. */
struct etx_graph {
    const struct etx_memory *memory; /* NULL: the host */
    int64_t n_nodes;
    int64_t n_edges;
    int32_t *src;        /* [n_edges] */
    int32_t *dst;        /* [n_edges] ascending */
    int64_t *in_offset;  /* [n_nodes + 1] edges into a node, by edge id */
    int64_t *out_offset; /* [n_nodes + 1] places in out_edge */
    int32_t *out_edge;   /* [n_edges] edge ids sorted by (src, edge id) */
    float *score;        /* [n_edges] or NULL */
    /* Borrowed; not NULL while a network runs on a part of a graph: data/part.h
     */
    const struct etx_halo *halo;
    /* Owned, of a graph of the host; NULL: none. data/device_copy.h */
    struct etx_device_copy *device_copy;
};

/* ETX_ERR_LIMIT when one of the counts is above 2^31 - 1. */
etx_status etx_graph_check_size(int64_t n_nodes, int64_t n_edges);

/* Take over src, dst [n_edges] (and score or NULL), already sorted by
 * (dst, src); builds both offsets and out_edge, on the pool unless it is NULL.
 * On error the caller keeps the arrays. */
etx_status etx_graph_adopt(struct etx_graph **out, struct etx_pool *pool,
    int64_t n_nodes, int64_t n_edges, int32_t *src, int32_t *dst, float *score);

/* The same without offsets and out_edge: a graph of ends alone, which takes no
 * time and no memory beside its edges. Only what reads src, dst and score may
 * have it. */
etx_status etx_graph_adopt_ends(struct etx_graph **out, int64_t n_nodes,
    int64_t n_edges, int32_t *src, int32_t *dst);

/* Edges of a caller, in any order; ends in 0 .. n_nodes-1. */
struct etx_edges {
    int64_t n_nodes;
    int64_t n_edges;
    const int32_t *src; /* [n_edges] */
    const int32_t *dst; /* [n_edges] */
    const float *score; /* [n_edges] or NULL */
};

/* Sort and copy them. order_out [n_edges] or NULL: for each edge of the
 * graph, its place in the input; equal edges keep their order. */
etx_status etx_graph_sort(
    struct etx_graph **out, int64_t *order_out, const struct etx_edges *edges);

/* The edges selected [n_selected] (ascending edge ids), with their scores; on
 * the pool unless it is NULL. graph may be one of ends alone. */
etx_status etx_graph_subset(struct etx_graph **out, struct etx_pool *pool,
    const struct etx_graph *graph, int64_t n_selected, const int32_t *selected);

#endif
