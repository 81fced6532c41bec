/* data/device_copy.h -- what a graph of the host has on a device.
 *
 * A context with keep_graphs leaves the arrays of the graphs that it makes or
 * scores where it computed them. The graph owns this copy; the context gives
 * its memory back when it is closed, since the memory is of its pool. All of it
 * is done by one thread at a time per context.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_DEVICE_COPY_H
#define ETX_DATA_DEVICE_COPY_H

#include "backend/backend.h"
#include "data/graph.h"

struct etx_device_copy {
    struct etx_context *context;  /* in whose memory it lies */
    struct etx_graph *host;       /* whose copy it is */
    struct etx_graph *graph;      /* the same values at the context's place */
    struct etx_device_copy *next; /* of the same context */
};

/* Take over graph, which lies at the context's place and has the values of
 * host, in place of a copy that host has. On error the caller keeps it. */
etx_status etx_device_copy_keep(struct etx_graph *host,
    struct etx_context *context, struct etx_graph *graph);

/* The copy of host in the memory of context, or NULL. */
struct etx_graph *etx_device_copy_of(
    const struct etx_graph *host, const struct etx_context *context);

/* Bring the scores of host, or that it has none, to its copy, if it has one.
 * A failure drops the copy. */
etx_status etx_device_copy_scores(struct etx_graph *host);

/* Give the copy back; nothing for a graph without one. */
void etx_device_copy_drop(struct etx_graph *host);
/* All that lie in the memory of context, which is about to be closed. */
void etx_device_copy_drop_all(struct etx_context *context);

#endif
