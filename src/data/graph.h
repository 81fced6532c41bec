/* data/graph.h -- directed edges between hits, indexed from both ends.
 *
 * Edges are sorted by (dst, src), so the edges into a node are a range of edge
 * ids; the edges out of a node are a range of out_edge:
 *
 *   in_offset  [n_nodes + 1]   src, dst, score [n_edges]
 *   node i ----------------->  edges in_offset[i] .. in_offset[i + 1]
 *   out_offset [n_nodes + 1]   out_edge [n_edges]
 *   node i ----------------->  out_edge[out_offset[i] .. out_offset[i + 1]]
 *
 * The functions work in the memory of a context, by its operators. context
 * NULL: on the host, in the calling thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_GRAPH_H
#define ETX_DATA_GRAPH_H

#include <exatrkx/graph.h>

#include "backend/backend.h"

struct etx_halo;

/* Owns its arrays. n_edges and n_nodes are at most 2^31 - 1. Graphs of callers
 * are on the host, or have nothing but a mirror. A graph of ends only has no
 * offsets and no out_edge: NULL. */
struct etx_graph {
    const struct etx_memory *memory; /* of the arrays; NULL: the host */
    int64_t n_nodes;
    int64_t n_edges;
    int32_t *src;        /* [n_edges] */
    int32_t *dst;        /* [n_edges] ascending */
    int64_t *in_offset;  /* [n_nodes + 1] edges into a node, by edge id */
    int64_t *out_offset; /* [n_nodes + 1] ranges of out_edge */
    int32_t *out_edge;   /* [n_edges] edge ids sorted by (src, edge id) */
    float *score;        /* [n_edges] or NULL */
    int32_t n_features;  /* 0 without */
    float *features;     /* [n_edges, n_features] the caller's own, or NULL */
    /* Borrowed; not NULL while a network runs on a partition: data/part.h */
    const struct etx_halo *halo;
    /* Of a graph on the host: the same graph in the memory of a context, or
     * NULL, and that context's list of such graphs; data/graph_mirror.h */
    struct etx_graph *mirror; /* owned */
    struct etx_context *mirror_context;
    struct etx_graph *next_mirrored;
};

/* A graph whose arrays are not written yet. */
etx_status etx_graph_alloc(struct etx_graph **out,
    const struct etx_memory *memory, int64_t n_nodes, int64_t n_edges,
    int32_t with_score);

/* Take ownership of src, dst [n_edges] (and score or NULL), already sorted by
 * (dst, src), and index them. On error the caller keeps the arrays. */
etx_status etx_graph_adopt(struct etx_graph **out, struct etx_context *context,
    int64_t n_nodes, int64_t n_edges, int32_t *src, int32_t *dst, float *score);

/* The same without an index: a graph of ends only, for readers of src, dst and
 * score. */
etx_status etx_graph_adopt_ends(struct etx_graph **out,
    const struct etx_context *context, int64_t n_nodes, int64_t n_edges,
    int32_t *src, int32_t *dst);

/* Edges of a caller, in any order; ends in 0 .. n_nodes-1. */
struct etx_edges {
    int64_t n_nodes;
    int64_t n_edges;
    const int32_t *src; /* [n_edges] */
    const int32_t *dst; /* [n_edges] */
    const float *score; /* [n_edges] or NULL */
};

/* graph_sort.c: sort and copy them, which are in the memory of context.
 * order_out [n_edges] on the host, or NULL: for each edge of the graph, its
 * index in the input; equal edges keep their order. */
etx_status etx_graph_sort(struct etx_graph **out, int64_t *order_out,
    struct etx_context *context, const struct etx_edges *edges);

/* Take ownership of features [n_edges, n_features], in the memory of the graph,
 * in place of those that it has. */
void etx_graph_adopt_features(
    struct etx_graph *graph, int32_t n_features, float *features);

/* Features of the caller [n_edges, n_features], not written yet. */
etx_status etx_graph_alloc_features(
    struct etx_graph *graph, int32_t n_features);

/* The edges selected [n_selected] (ascending edge ids), with their scores and
 * features. graph may be one of ends only. */
etx_status etx_graph_subset(struct etx_graph **out, struct etx_context *context,
    const struct etx_graph *graph, int64_t n_selected, const int32_t *selected);

/* Free the mirror of a graph, if it has one. */
void etx_graph_drop_mirror(struct etx_graph *graph);

#endif
