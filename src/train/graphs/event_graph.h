/* train/graphs/event_graph.h -- the graphs that a stage in training reads.
 *
 * The stages before the one in training do not change, so a graph is made at
 * most once while it fits in memory; beyond the bound the least recently used
 * one is freed. With a cache on disk it is made once and read again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_GRAPHS_EVENT_GRAPH_H
#define ETX_TRAIN_GRAPHS_EVENT_GRAPH_H

#include "stage/model.h"
#include "train/graphs/disk_cache.h"

/* What graphs are made with and kept in. */
struct etx_event_graphs {
    struct etx_context *context;
    const struct etx_model *model;
    int32_t stage;                            /* enum etx_train_stage */
    int64_t max_bytes;                        /* of the graphs in memory */
    const struct etx_train_events *events[2]; /* training and validation */
    struct etx_graph_disk_cache *disk;        /* owned, or NULL */
    int64_t n_bytes;                          /* of the graphs in memory */
    int64_t n_uses;
};

/* *out = the graph of event, one of the two lists; the event's until the next
 * call. */
etx_status etx_event_graph(const struct etx_graph **out,
    struct etx_event_graphs *graphs, struct etx_train_event *event);

#endif
