/* stage/track_building/longest_paths.h -- take the best path again and again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_LONGEST_PATHS_H
#define ETX_STAGE_LONGEST_PATHS_H

#include "backend/backend.h"

/* A directed graph without cycles: every edge runs from a smaller node to a
 * larger one. Edges of a node are sorted by their other end. */
struct etx_dag {
    int32_t n_nodes;
    int32_t n_edges;
    int32_t *out_offset; /* [n_nodes + 1] places in head and score */
    int32_t *head;       /* [n_edges] where the edges out of a node end */
    float *score;        /* [n_edges] >= 0 */
    int32_t *in_offset;  /* [n_nodes + 1] places in tail */
    int32_t *tail;       /* [n_edges] where the edges into a node begin */
};

/* Repeat: take the path with the largest sum of scores among the nodes not
 * yet taken, as long as one of two nodes or more is left. Ties: more nodes,
 * then the path that starts at the smaller node; from a node on, the larger
 * rest, more nodes, the smaller next node. Sums are in float64, from the end
 * of a path to its start. start [n_nodes] gets the first node of the path
 * that a node is on, itself when it is on none.
 *
 * work_limit is how many edges may be looked at to keep the best rests of
 * paths up to date after each path. Beyond it they are computed anew only
 * when no path is left to take, and a path ends before the first node that
 * is taken already. Such a pass takes O(n_edges log n_nodes), and as every
 * node that it leaves has lost its best edge there are at most
 * 2 sqrt(n_edges) of them. */
etx_status etx_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_dag *dag, int64_t work_limit);

#endif
