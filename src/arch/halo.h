/* arch/halo.h -- rows of nodes that another part of the graph owns.
 *
 * A network that runs on a part of a graph calls these where node rows change;
 * on a whole graph they do nothing. All parts call them in the same order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_HALO_H
#define ETX_ARCH_HALO_H

#include "arch/arch.h"
#include "data/part.h"

/* After an update of node rows [n_nodes, width], which is right for own nodes
 * only: the rows of the halo from their owners. */
etx_status etx_halo_update(struct etx_context *context,
    const struct etx_graph *graph, float *rows, int32_t width);

/* The same backward, on the gradient of the rows: that of the halo goes to the
 * owners and becomes 0 here; what comes for own rows is added, in the order of
 * the parts. */
etx_status etx_halo_return(struct etx_context *context,
    const struct etx_graph *graph, float *d_rows, int32_t width);

/* Must a network run although its graph has no edges? A part must, as others
 * may wait for its rows. */
static inline int32_t etx_halo_waits(const struct etx_graph *graph)
{
    return graph->halo != NULL;
}

/* ETX_ERR_UNSUPPORTED for a network that needs the whole graph. */
etx_status etx_halo_check(const struct etx_network *network);

#endif
