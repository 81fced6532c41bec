/* train/graphs/disk_cache.h -- the graphs of events on disk, and the next ones
 * read ahead.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_GRAPHS_DISK_CACHE_H
#define ETX_TRAIN_GRAPHS_DISK_CACHE_H

#include "train/graphs/graph_file.h"
#include "train/sampling/event.h"

struct etx_graph_disk_cache;

/* Keep graphs in an existing folder. stages_hash: hash of the stages before the
 * one in training; n_ahead: events of a step. */
etx_status etx_graph_disk_cache_open(struct etx_graph_disk_cache **out,
    const char *folder, uint64_t stages_hash, int32_t n_ahead);
void etx_graph_disk_cache_close(struct etx_graph_disk_cache *cache);

/* *out = the graph of event, prefetched or read now; NULL when there is no
 * file. */
etx_status etx_graph_disk_cache_find(struct etx_graph **out,
    struct etx_graph_disk_cache *cache, const struct etx_event *event);
etx_status etx_graph_disk_cache_insert(const struct etx_graph_disk_cache *cache,
    const struct etx_event *event, const struct etx_graph *graph);

/* Start reading the graphs of these events [n], at most n_ahead, on a thread.
 * etx_graph_disk_cache_find reports what could not be read. */
void etx_graph_disk_cache_prefetch(struct etx_graph_disk_cache *cache,
    struct etx_train_event *const *event, int32_t n);

#endif
