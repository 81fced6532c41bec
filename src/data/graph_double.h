/* data/graph_double.h -- graphs with both directions of every edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_GRAPH_DOUBLE_H
#define ETX_DATA_GRAPH_DOUBLE_H

#include "data/graph.h"

/* *out has every edge of graph and its reverse, both with its score and its
 * features of the caller, sorted by (dst, src) as all graphs. slot [2 *
 * n_edges], in the memory of the context: slot[k] is the index in *out of edge
 * k, slot[n_edges + k] that of its reverse.
 *
 *     graph      edge 0: 0 -> 1    edge 1: 1 -> 2
 *     *out       0: 1 -> 0    1: 0 -> 1    2: 2 -> 1    3: 1 -> 2
 *     slot       1 3 | 0 2
 */
etx_status etx_graph_double(struct etx_graph **out, int32_t *slot,
    struct etx_context *context, const struct etx_graph *graph);

/* out [2 * n_edges], of the edges of the doubled graph: values [n_edges] of the
 * edge or the edge that is reversed. */
etx_status etx_graph_double_values(float *out, struct etx_context *context,
    const int32_t *slot, const float *values, int64_t n_edges);

#endif
