/* op/simd/kernels/radius_graph.c -- all pairs of points within a radius.
 *
 * Points are sorted into leaves with a hierarchy of boxes (leaves.c), pairs
 * are found leaf by leaf (search_pairs.c; search_nearest.c with a cap on the
 * neighbours) and their edges sorted while they come (edge_bins.c). None of it
 * depends on the order of work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"
#include "base/status.h"
#include "op/simd/neighbours.h"

#include <inttypes.h>
#include <math.h>

/* radius * radius in float32, without raising overflow. */
static float squared(float radius)
{
    return radius > 1.8446743e19f ? INFINITY : radius * radius;
}

etx_status ETX_ISA_NAME(search_count)(
    struct etx_neighbour_search *search, int64_t n)
{
    const struct etx_radius_graph_args *args = search->args;

    if (atomic_fetch_add(&search->n_edges, n) + n <= args->max_edges)
        return ETX_OK;
    return etx_fail(ETX_ERR_LIMIT,
        "radius_graph: more than max_edges = %" PRId64 " edges among %" PRId64
        " points within radius %.9g",
        args->max_edges, args->n_points, (double)args->radius);
}

etx_status ETX_ISA_NAME(radius_graph)(
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_neighbour_search search = {
        .stream = stream, .args = args, .bound = squared(args->radius)};
    etx_status status;

    if (args->n_points == 0)
        return etx_op_ref.radius_graph(stream, args);
    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(ETX_ISA_NAME(leaves_build)(&search.leaves, stream, args));
    search.limit = ETX_ISA_NAME(leaves_limit)(&search.leaves, search.bound);
    ETX_CHECK(etx_edge_bins_open(&search.bins, stream, args->n_points));
    ETX_CHECK(etx_check_cancelled(stream));
    if (args->max_neighbours > 0)
        ETX_CHECK(ETX_ISA_NAME(search_nearest)(&search));
    else
        ETX_CHECK(ETX_ISA_NAME(search_pairs)(&search));
    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(etx_edge_bins_sort(args->out, &search.bins, stream));
done:
    etx_edge_bins_close(&search.bins);
    etx_arena_reset(stream->arena, mark);
    return status;
}
