/* train/graphs/graph_file.h -- cached graphs on disk.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_GRAPHS_GRAPH_FILE_H
#define ETX_TRAIN_GRAPHS_GRAPH_FILE_H

#include "data/graph.h"

/* Identity of a graph: the hash of its event and of the stages that made it,
 * and the hits of the event. */
struct etx_graph_key {
    uint64_t hash;
    int64_t n_nodes;
};

/* Written atomically. */
etx_status etx_graph_file_write(const char *path, const struct etx_graph *graph,
    const struct etx_graph_key *key);

/* ETX_ERR_FORMAT for a file that is damaged, no graph, or of another key;
 * every edge is checked before use. */
etx_status etx_graph_file_read(
    struct etx_graph **out, const char *path, const struct etx_graph_key *key);

#endif
