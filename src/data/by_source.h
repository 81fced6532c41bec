/* data/by_source.h -- edges in order of their sources.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_BY_SOURCE_H
#define ETX_DATA_BY_SOURCE_H

#include "base/threads.h"

/* order [n_edges] = the edges 0 .. n_edges - 1 sorted by (src, edge), offset
 * [n_nodes + 1] where each source begins. pool may be NULL. */
etx_status etx_edges_by_source(int32_t *order, int64_t *offset,
    struct etx_pool *pool, int64_t n_nodes, int64_t n_edges,
    const int32_t *src);

#endif
