/* op/labels.h -- arguments of the operators that select edges and label tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_LABELS_H
#define ETX_OP_LABELS_H

#include <stdint.h>

/* connected_components: label[i] = smallest node of i's component over the
 * edges with score > cut (score NULL: all edges). */
struct etx_connected_components_args {
    int64_t n_nodes, n_edges;
    const int32_t *src; /* [n_edges] */
    const int32_t *dst; /* [n_edges] */
    const float *score; /* [n_edges] or NULL */
    float cut;
    int32_t *label; /* [n_nodes] */
};

/* edge_select: ids of the edges with score > cut, ascending; of more than
 * max_selected those of the highest scores, of equal scores the first. */
struct etx_edge_select_args {
    int64_t n_edges;
    const float *score; /* [n_edges] */
    float cut;
    int64_t max_selected; /* 0: all */
    int32_t *selected;    /* [n_edges] capacity */
    int64_t *n_selected;
};

/* mutual_best: ids of the edges with score > cut that are the best out of
 * their source and the best into their target; best is the highest score,
 * then the lowest edge id. Ascending. */
struct etx_mutual_best_args {
    int64_t n_nodes, n_edges;
    const int32_t *src; /* [n_edges] */
    const int32_t *dst; /* [n_edges] */
    const float *score; /* [n_edges] */
    float cut;
    int32_t *selected; /* [n_edges] capacity */
    int64_t *n_selected;
};

/* outward_key: key[i] = x^2 + y^2 + z^2 in float32, each product and sum
 * rounded, from left to right. */
struct etx_outward_key_args {
    int64_t n;
    const float *position; /* [n, 3] mm */
    float *key;            /* [n] mm^2 */
};

/* outward_edges: the selected edges that are no loops, in their order, turned
 * to run from the smaller key to the larger, ties from the smaller node. */
struct etx_outward_edges_args {
    int64_t n_selected;
    const int32_t *selected; /* [n_selected] edges */
    const int32_t *src;      /* [edges] */
    const int32_t *dst;      /* [edges] */
    const float *edge_score; /* [edges] */
    const float *key;        /* [nodes] */
    int32_t *tail, *head;    /* [n_selected] capacity */
    float *score;            /* [n_selected] capacity */
    int64_t *n;              /* how many they are; on the host */
};

/* best_first: joins edges to chains, at most one edge in and one out a node.
 * Edges with a score above a cut join in the order of their scores, then the
 * rest in the order of the kink (op/ref/joint.h) that their joints have
 * by then, where it is at most ETX_MAX_KINK and one of both chains has
 * support_hits hits or more; so with sure_cut first, if it is larger, then with
 * strong_cut. An edge whose tail or head is joined already is passed over; ties
 * by edge. The edges have no cycle. */
struct etx_best_first_args {
    int64_t n_nodes, n_edges;
    const int32_t *tail, *head; /* [n_edges] */
    const float *score;         /* [n_edges] */
    const float *position;      /* [n_nodes, 3] mm */
    float sure_cut, strong_cut;
    float max_curvature_change, max_polar_change;
    int32_t support_hits;
    int32_t *group; /* [n_nodes] the first node of the chain */
};

/* walkthrough: of the nodes that are not taken yet the path with the largest
 * sum of scores is a group, its nodes are taken, and so on while a path of two
 * nodes is left. Edges run from the smaller key to the larger, ties from the
 * smaller node; an edge may be given twice. Ties of paths and what a component
 * gets beyond its looks: op/ref/longest_paths.h. A component in which no node
 * has two edges in or two out is a group. */
struct etx_walkthrough_args {
    int64_t n_nodes, n_edges;
    const int32_t *tail, *head; /* [n_edges] */
    const float *score;         /* [n_edges] >= 0 */
    const float *key;           /* [n_nodes] >= 0 */
    int64_t looks; /* for every edge and node, to keep the search exact; at most
                    * 2^30 */
    int32_t *group; /* [n_nodes] a node of the group, the same for all of it */
};

/* X(name) for every operator of this header. */
#define ETX_LABELS_OPERATORS(X)                                                \
    X(connected_components)                                                    \
    X(edge_select)                                                             \
    X(mutual_best)                                                             \
    X(outward_key)                                                             \
    X(outward_edges)                                                           \
    X(best_first)                                                              \
    X(walkthrough)

#endif
