/* op/simd/neighbours.h -- the two searches of radius_graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_NEIGHBOURS_H
#define ETX_OP_SIMD_NEIGHBOURS_H

#include <stdatomic.h>

#include "op/simd/edge_bins.h"
#include "op/simd/leaves.h"

/* What a search reads, and where its edges go. */
struct etx_neighbour_search {
    struct etx_stream *stream;
    const struct etx_radius_graph_args *args;
    struct etx_leaves leaves;
    float bound; /* of squared distances: radius * radius */
    float limit; /* the same between boxes */
    struct etx_edge_bins bins;
    _Atomic int64_t n_edges;
};

/* All pairs within the radius. */
etx_status ETX_ISA_NAME(search_pairs)(struct etx_neighbour_search *search);

/* The max_neighbours nearest of every point. */
etx_status ETX_ISA_NAME(search_nearest)(struct etx_neighbour_search *search);

/* n more edges were added; ETX_ERR_LIMIT when these are too many. */
etx_status ETX_ISA_NAME(search_count)(
    struct etx_neighbour_search *search, int64_t n);

#endif
