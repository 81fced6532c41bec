/* data/part.h -- one part of a graph whose nodes are shared out.
 *
 * The owner of a node holds all edges at it, in the order of the whole graph,
 * so that sums over a node's edges have the same bits as there. Edges between
 * parts are held by both owners. The other ends of those are the halo: nodes
 * whose rows their owners send after every update.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_PART_H
#define ETX_DATA_PART_H

#include "data/graph.h"
#include "memory/arena.h"

/* The public etx_graph_part. Nodes and edges of the part ascend in the whole
 * graph. Rows are nodes of the part. */
struct etx_graph_part {
    struct etx_graph *graph; /* of the part's nodes */
    int32_t n_parts, part;
    int64_t whole_nodes, whole_edges;
    int64_t n_own_edges; /* that end at own nodes; no part shares these */
    int32_t *node;       /* [n_nodes] of the whole graph */
    int32_t *owner;      /* [n_nodes] */
    int32_t *edge;       /* [n_edges] of the whole graph */
    int64_t n_sent_rows, n_received_rows;
    int64_t *n_sent;       /* [n_parts] rows for each part */
    int64_t *n_received;   /* [n_parts] rows from each part */
    int32_t *sent_row;     /* [n_sent_rows] own, by part, ascending */
    int32_t *received_row; /* [n_received_rows] halo, by part, ascending */
};

/* What a network needs of a part whose graph it runs on: see etx_graph.halo.
 * Borrowed. */
struct etx_halo {
    const struct etx_graph_part *part;
    const etx_part_exchange *exchange;
    int64_t whole_nodes, whole_edges; /* of the graph that has been shared */
};

/* owner [n_nodes] = the part of each node, in 0 .. n_parts - 1; order
 * ETX_PARTITION_, position [n_nodes, 3] mm. */
etx_status etx_partition_nodes(int32_t *owner, const struct etx_graph *graph,
    const float *position, int32_t n_parts, int32_t order);

/* owner [graph->n_nodes] in 0 .. n_parts - 1. */
etx_status etx_part_make(struct etx_graph_part **out,
    const struct etx_graph *graph, const int32_t *owner, int32_t n_parts,
    int32_t part);
void etx_part_release(struct etx_graph_part *part);

/* The rows of the part's nodes: out [n_nodes, width] of x [whole nodes,
 * width]. */
void etx_part_take_rows(float *out, const struct etx_graph_part *part,
    const float *x, int32_t width);

/* The same, *out in scratch. */
etx_status etx_part_arena_rows(const float **out, struct etx_arena *arena,
    const struct etx_graph_part *part, const float *x, int32_t width);

/* Are the edge's score and loss this part's? Of an edge that two parts hold
 * they are those of the part where it ends. */
static inline int32_t etx_part_owns_edge(
    const struct etx_graph_part *part, int64_t e)
{
    return part->owner[part->graph->dst[e]] == part->part;
}

#endif
