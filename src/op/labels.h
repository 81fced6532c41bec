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

/* edge_select: indices of the edges with score > cut, ascending. If they are
 * more than max_selected, the highest scores; of equal scores the first. */
struct etx_edge_select_args {
    int64_t n_edges;
    const float *score; /* [n_edges] */
    float cut;
    int64_t max_selected; /* 0: all */
    int32_t *selected;    /* [n_edges] capacity */
    int64_t *n_selected;
};

/* mutual_best: indices, ascending, of the edges with score > cut that are both
 * the best edge out of their source and the best edge into their target: the
 * highest score, then the lowest index. */
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

/* outward_edges: the edges with score > cut without loops, in the same order,
 * oriented from the smaller key to the larger, ties from the smaller node. */
struct etx_outward_edges_args {
    int64_t n_edges;
    const int32_t *src;      /* [n_edges] */
    const int32_t *dst;      /* [n_edges] */
    const float *edge_score; /* [n_edges] */
    float cut;
    const float *key;     /* [nodes] */
    int32_t *tail, *head; /* [n_edges] capacity */
    float *score;         /* [n_edges] capacity */
    int64_t *n;           /* [1] their number */
};

/* best_first: greedy linking of chains, at most one edge into and one out of a
 * node; an edge whose tail or head is linked already is skipped. A round links
 * the edges with a score above its cut, highest score first, then the rest by
 * the kink (op/shared/kink.h) that their link has at that time, smallest first,
 * if the kink is at most ETX_MAX_KINK and one of the two chains has
 * support_hits hits or more. The cut of the first round is sure_cut, if that is
 * larger, and of the last strong_cut. Ties go to the first edge. The edges have
 * no cycle. */
struct etx_best_first_args {
    int64_t n_nodes, max_edges;
    const int64_t *n_edges;     /* [1] at most max_edges */
    const int32_t *tail, *head; /* [n_edges] */
    const float *score;         /* [n_edges] */
    const float *position;      /* [n_nodes, 3] mm */
    float sure_cut, strong_cut;
    float max_curvature_change, max_polar_change;
    int32_t support_hits;
    int32_t *group; /* [n_nodes] the first node of the chain */
};

/* walkthrough: repeats: the path with the largest sum of scores among the
 * remaining nodes becomes a group and its nodes are removed, while a path of
 * two nodes remains. Edges run from the smaller key to the larger, ties from
 * the smaller node; an edge may occur twice. A component in which no node has
 * two edges in or two out is a group. Ties between paths, and the search beyond
 * the work budget: op/ref/longest_paths.h. */
struct etx_walkthrough_args {
    int64_t n_nodes, n_edges;
    const int32_t *tail, *head; /* [n_edges] */
    const float *score;         /* [n_edges] >= 0 */
    const float *key;           /* [n_nodes] >= 0 */
    /* Visits per edge and node while the search is exact; at most 2^30. */
    int64_t work_budget;
    int32_t *group; /* [n_nodes] a node of the group, the same for all of it */
};

/* X(name) for every operator of this header. */
#define ETX_LABELS_OPERATORS(X)                                                \
    X(connected_components)                                                    \
    X(edge_select)                                                             \
    X(mutual_best)                                                             \
    X(outward_key)                                                             \
    X(outward_edges)                                                           \
    X(best_first)

#endif
