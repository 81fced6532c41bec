/* train/graphs/graph_file.h -- graphs that reach a stage, kept on disk.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_GRAPHS_GRAPH_FILE_H
#define ETX_TRAIN_GRAPHS_GRAPH_FILE_H

#include "data/graph.h"

/* What a file must be of: the hash of all that the graph was made from, and
 * the hits of its event. */
struct etx_graph_mark {
    uint64_t hash;
    int64_t n_nodes;
};

/* Written atomically. */
etx_status etx_graph_file_write(const char *path, const struct etx_graph *graph,
    const struct etx_graph_mark *mark);

/* ETX_ERR_FORMAT for a file that is damaged, no graph, or of another mark;
 * every edge is checked before use. */
etx_status etx_graph_file_read(struct etx_graph **out, const char *path,
    const struct etx_graph_mark *mark);

#endif
