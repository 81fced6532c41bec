/* data/line_graph.h -- the graph whose nodes are the edges of another.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_LINE_GRAPH_H
#define ETX_DATA_LINE_GRAPH_H

#include "backend/backend.h"
#include "data/graph.h"

/* The line graph of graph, in the memory of the context: a node per edge, and
 * an edge per pair of edges where one ends at the node that the other begins
 * at. ETX_ERR_LIMIT when it has more than max_edges. */
etx_status etx_graph_line(struct etx_graph **out, struct etx_context *context,
    const struct etx_graph *graph, int64_t max_edges);

#endif
