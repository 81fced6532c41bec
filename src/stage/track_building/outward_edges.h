/* stage/track_building/outward_edges.h -- the edges above a cut, directed
 * outward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_BUILDING_OUTWARD_EDGES_H
#define ETX_STAGE_TRACK_BUILDING_OUTWARD_EDGES_H

#include "backend/backend.h"
#include "data/graph.h"

/* The edges of a graph that are above a cut and no loops, in the graph's
 * order, turned to run from the smaller key to the larger, ties by row. */
struct etx_outward_edges {
    float *key; /* [n_nodes] squared distance from the origin, mm^2 */
    int64_t max_edges;
    int64_t *n;           /* [1] their number */
    int32_t *tail, *head; /* [n] */
    float *score;         /* [n] */
};

/* Choose them, in scratch of the context. position [n_nodes, 3] in mm, in the
 * memory of the context, as the arrays of out. */
etx_status etx_outward_edges_choose(struct etx_outward_edges *out,
    struct etx_context *context, const struct etx_graph *graph,
    const float *position, float cut);

#endif
