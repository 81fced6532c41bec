/* track_graphs.h -- small scored graphs whose tracks are known.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_TRACK_GRAPHS_H
#define ETX_TEST_TRACK_GRAPHS_H

#include <exatrkx/graph.h>

#define LIST_MAX_EDGES 64

struct scored_edge {
    int32_t src, dst;
    float score;
};

/* Edges in any order. */
struct edge_list {
    int64_t n_nodes;
    int64_t n_edges;
    struct scored_edge edge[LIST_MAX_EDGES];
};

/* The graph of these edges [n_edges]; the caller frees it. */
etx_graph *new_graph(
    int64_t n_nodes, int64_t n_edges, const struct scored_edge *edges);
etx_graph *new_list_graph(const struct edge_list *list);

/* Hits on the x axis: node i at x[i], or at i + 1 for NULL. */
etx_event *new_line_event(int64_t n_nodes, const float *x);

/* Random edges between any two nodes, scores in [0, 1); the caller frees. */
struct scored_edge *new_random_edges(
    int64_t n_nodes, int64_t n_edges, uint32_t seed);

etx_label_options label_options(int32_t method, float cut, int32_t min_hits);

/* labels [n_nodes] of the list's hits on the x axis; one hit is a track when
 * min_hits is 1. */
void label_list(int32_t *labels, const struct edge_list *list, int32_t method,
    float cut, int32_t min_hits);

/* labels [n_nodes] of hits at these positions [n_nodes, 3], NULL: on the x
 * axis, joined by these edges. */
void label_at(int32_t *labels, int64_t n_nodes, int64_t n_edges,
    const struct scored_edge *edges, const float *position,
    const etx_label_options *options);
void label_list_at(int32_t *labels, const struct edge_list *list,
    const float *position, const etx_label_options *options);

/* labels [n_nodes] of a graph of these edges. */
void label_edges(int32_t *labels, int64_t n_nodes, int64_t n_edges,
    const struct scored_edge *edges, int32_t method, float cut,
    int32_t min_hits);

/* Compare arrays [count], naming the first difference. */
void assert_labels(
    const int32_t *labels, const int32_t *expected, int64_t count);

#endif
