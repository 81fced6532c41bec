/* arch/halo.h -- rows of nodes that another partition owns.
 *
 * A network that runs on a partition of a graph calls these where node rows
 * change; on a whole graph they do nothing. All partitions call them in the
 * same order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_ARCH_HALO_H
#define ETX_ARCH_HALO_H

#include "arch/arch.h"
#include "data/part.h"

/* After an update of node rows [n_nodes, width], which is valid for own nodes
 * only: the rows of the halo from their owners. */
etx_status etx_halo_update(struct etx_context *context,
    const struct etx_graph *graph, float *rows, int32_t width);

/* Its adjoint, on the gradient of the rows: that of the halo is added to that
 * of the owners, in the order of the partitions, and becomes 0. */
etx_status etx_halo_reduce(struct etx_context *context,
    const struct etx_graph *graph, float *d_rows, int32_t width);

/* ETX_ERR_UNSUPPORTED for a network that needs the whole graph. */
etx_status etx_halo_check(const struct etx_network *network);

#endif
