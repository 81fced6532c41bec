/* data/graph_place.h -- graphs at the place where a context computes.
 *
 * On the CPU these are the functions of data/graph.h. On a device the arrays
 * stay in its memory and operators do the work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_GRAPH_PLACE_H
#define ETX_DATA_GRAPH_PLACE_H

#include "backend/backend.h"
#include "data/graph.h"

/* etx_graph_adopt of src, dst [n_edges] that lie at the context's place. */
etx_status etx_graph_adopt_at(struct etx_graph **out,
    struct etx_context *context, int64_t n_nodes, int64_t n_edges, int32_t *src,
    int32_t *dst);

/* etx_graph_subset of a graph at the context's place; selected lies there. */
etx_status etx_graph_subset_at(struct etx_graph **out,
    struct etx_context *context, const struct etx_graph *graph,
    int64_t n_selected, const int32_t *selected);

/* Edges of both directions: edge e and its reverse, with its score. place
 * [2 * n_edges], where the graph and the context are, gets for k < n_edges the
 * edge of the doubled graph that is edge k, for n_edges + k its reverse. */
etx_status etx_graph_double(struct etx_graph **out, int32_t *slot,
    struct etx_context *context, const struct etx_graph *graph);

/* out [2 * n_edges] of values [n_edges]: that of edge e at both of its places
 * in the doubled graph. */
etx_status etx_graph_double_values(float *out, struct etx_context *context,
    const int32_t *slot, const float *values, int64_t n_edges);

/* A copy of a graph of the host at the context's place, and back. */
etx_status etx_graph_to_device(struct etx_graph **out,
    const struct etx_context *context, const struct etx_graph *graph);
etx_status etx_graph_to_host(
    struct etx_graph **out, const struct etx_graph *graph);

#endif
