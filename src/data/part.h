/* data/part.h -- one partition of a graph, with its halo.
 *
 * Every node is owned by one partition, which holds all edges at it, in the
 * order of the whole graph, so that sums over a node's edges have the same
 * bits. Edges between partitions are held by both. Their other ends are the
 * halo: nodes whose rows their owners send after every update.
 *
 *      partition 0   |   partition 1
 *     a ---> b ---------> c ---> d       edge (b, c) is in both;
 *                    |                   halo of 0: c, halo of 1: b
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_PART_H
#define ETX_DATA_PART_H

#include "data/graph.h"
#include "memory/arena.h"

/* The public etx_graph_part. Nodes and edges are in the order of the whole
 * graph. Rows are nodes of the partition. */
struct etx_graph_part {
    struct etx_graph *graph; /* of the nodes of the partition */
    int32_t n_parts, part;
    int64_t whole_nodes, whole_edges;
    int64_t n_own_edges; /* that end at own nodes; in one partition only */
    int32_t *node;       /* [n_nodes] of the whole graph */
    int32_t *owner;      /* [n_nodes] */
    int32_t *edge;       /* [n_edges] of the whole graph */
    int64_t n_sent_rows, n_received_rows;
    int64_t *n_sent;       /* [n_parts] rows to each partition */
    int64_t *n_received;   /* [n_parts] rows from each partition */
    int32_t *sent_row;     /* [n_sent_rows] own, by partition, ascending */
    int32_t *received_row; /* [n_received_rows] halo, by owner, ascending */
};

/* The partition whose graph a network runs on: see etx_graph.halo. Borrowed. */
struct etx_halo {
    const struct etx_graph_part *part;
    const etx_part_exchange *exchange;
    int64_t whole_nodes, whole_edges; /* of the whole graph */
};

/* owner [n_nodes] = the partition of each node, in 0 .. n_parts - 1; order
 * ETX_PARTITION_, position [n_nodes, 3] mm. */
etx_status etx_partition_nodes(int32_t *owner, const struct etx_graph *graph,
    const float *position, int32_t n_parts, int32_t order);

/* owner [graph->n_nodes] in 0 .. n_parts - 1. */
etx_status etx_part_create(struct etx_graph_part **out,
    const struct etx_graph *graph, const int32_t *owner, int32_t n_parts,
    int32_t part);
void etx_part_free(struct etx_graph_part *part);

/* out [n_nodes, width] = the rows of the partition's nodes in x [whole nodes,
 * width]. */
void etx_part_gather_rows(float *out, const struct etx_graph_part *part,
    const float *x, int32_t width);

/* The same, *out in scratch. */
etx_status etx_part_arena_rows(const float **out, struct etx_arena *arena,
    const struct etx_graph_part *part, const float *x, int32_t width);

/* 1: this partition owns score and loss of the edge. An edge in two
 * partitions belongs to the one where it ends. */
static inline int32_t etx_part_owns_edge(
    const struct etx_graph_part *part, int64_t e)
{
    return part->owner[part->graph->dst[e]] == part->part;
}

#endif
