/* op/ref/longest_paths.h -- take the best path again and again.
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
    int32_t *out_offset; /* [n_nodes + 1] places in head and score */
    int32_t *head;       /* [n_edges] where the edges out of a node end */
    float *score;        /* [n_edges] >= 0 */
    int32_t *in_offset;  /* [n_nodes + 1] places in tail */
    int32_t *tail;       /* [n_edges] where the edges into a node begin */
    int32_t n_components;
    int32_t *first; /* [n_components + 1] their first nodes, and n_nodes */
};

/* Of every component, repeat: take the path with the largest sum of scores
 * among the nodes not yet taken, as long as one of two nodes or more is left.
 * Ties: more nodes, then the path that starts at the smaller node; from a node
 * on, the larger rest, more nodes, the smaller next node. Sums are in float64,
 * from the end of a path to its start. start [n_nodes] gets the first node of
 * the path that a node is on, itself when it is on none.
 *
 * The search goes in rounds that look at every node that is left, and at its
 * edges, twice. While a component has been looked at less than looks times the
 * number of its edges and nodes, a round takes the paths that no better one can
 * touch, so that their order does not matter. Beyond it a round is a pass: of
 * the best path from every node it takes the part that no better one takes.
 * Three passes in four start paths only at nodes that no edge leads to from one
 * that is left. The fourth does so at all nodes: every node that it leaves has
 * lost its best edge, hence there are at most 8 sqrt(edges) passes. */
etx_status etx_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_dag *dag, int64_t looks);

#endif
