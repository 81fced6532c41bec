/* data/graph_mirror.h -- copies of graphs between the host and a device.
 *
 * A context with keep_graphs leaves the arrays of the graphs that it makes or
 * scores in its memory, as the mirror of the graph that the caller gets; with
 * keep_graphs 2 those that it makes have no others: their src is NULL. The
 * graph owns its mirror; the context frees those that are left when it is
 * closed, since their memory is of its pool. One thread at a time per context.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_GRAPH_MIRROR_H
#define ETX_DATA_GRAPH_MIRROR_H

#include "data/graph.h"

/* A copy of a graph of the host in the memory of the context, and back. */
etx_status etx_graph_to_device(struct etx_graph **out,
    const struct etx_context *context, const struct etx_graph *graph);
etx_status etx_graph_to_host(
    struct etx_graph **out, const struct etx_graph *graph);

/* host takes ownership of device, which has its values in the memory of the
 * context, as its mirror. */
void etx_graph_mirror_set(struct etx_graph *host, struct etx_context *context,
    struct etx_graph *device);

/* The mirror of host in the memory of context, or NULL. */
struct etx_graph *etx_graph_mirror_of(
    const struct etx_graph *host, const struct etx_context *context);

/* ETX_ERR_ARGUMENT for a graph whose arrays are in its mirror alone. */
etx_status etx_graph_check_on_host(const struct etx_graph *graph);

/* Copy the scores of host, or their absence, to its mirror, if it has one. A
 * mirror that cannot have them is dropped: it is a copy of the host's. */
void etx_graph_mirror_scores(struct etx_graph *host);

/* Free all mirrors in the memory of context, which is about to be closed. */
void etx_graph_mirrors_free(struct etx_context *context);

#endif
