/* data/graph_double.h -- graphs with both directions of every edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_GRAPH_DOUBLE_H
#define ETX_DATA_GRAPH_DOUBLE_H

#include "data/graph.h"

/* *out has every edge of graph and its reverse, both with its score. slot
 * [2 * n_edges], in the memory of the context: for k < n_edges the id in *out
 * of edge k, at n_edges + k that of its reverse. */
etx_status etx_graph_double(struct etx_graph **out, int32_t *slot,
    struct etx_context *context, const struct etx_graph *graph);

/* out [2 * n_edges], by edges of the doubled graph, from values [n_edges]. */
etx_status etx_graph_double_values(float *out, struct etx_context *context,
    const int32_t *slot, const float *values, int64_t n_edges);

#endif
