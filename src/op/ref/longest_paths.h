/* op/ref/longest_paths.h -- disjoint paths of largest score, best first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_REF_LONGEST_PATHS_H
#define ETX_OP_REF_LONGEST_PATHS_H

#include "op/op.h"

/* A directed graph without cycles: every edge runs from a smaller node to a
 * larger one. Edges of a node are sorted by their other end. The nodes of a
 * component are neighbours. */
struct etx_dag {
    int32_t n_nodes;
    int32_t n_edges;
    int32_t *out_offset; /* [n_nodes + 1] into head and score */
    int32_t *head;       /* [n_edges] where the edges out of a node end */
    float *score;        /* [n_edges] >= 0 */
    int32_t *in_offset;  /* [n_nodes + 1] into tail */
    int32_t *tail;       /* [n_edges] where the edges into a node begin */
    int32_t n_components;
    int32_t *first; /* [n_components + 1] their first nodes, and n_nodes */
};

/* In every component, repeat: accept the path with the largest sum of scores
 * among the unused nodes, while one of two nodes or more exists. Ties: more
 * nodes, then the path that starts at the smaller node; from a node on, the
 * larger sum, more nodes, the smaller next node. Sums are in float64, from the
 * end of a path to its start. start[i] = first node of the path of node i, i
 * itself when it is on none.
 *
 * The search runs in rounds that visit every unused node and its edges twice.
 * While a component had fewer visits than work_budget times the number of its
 * edges and nodes, a round accepts the paths that no better path can touch, so
 * their order does not matter. Beyond the budget a round is a pass: of the best
 * path from every node it accepts the leading part that no better path claims.
 * Three passes in four start paths only at nodes without unused predecessors.
 * The fourth starts at all nodes: every node that it leaves has lost its best
 * edge, hence there are at most 8 sqrt(edges) passes. */
etx_status etx_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_dag *dag, int64_t work_budget);

#endif
