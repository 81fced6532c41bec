/* op/ref/hough_votes.c -- how many edges lie in an edge's cell.
 *
 * Edges are sorted by cell, so that the edges of a cell are contiguous. Counts
 * are whole numbers, so the order of the edges does not matter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/sort.h"
#include "op/shared/helix.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
static const double max_cell = 1048575.0; /* of curvature and eta: 21 bits */

static int64_t step_of(double value, double width)
{
    const double step = fmin(fmax(floor(value / width), -max_cell), max_cell);

    return (int64_t)(step + max_cell);
}

static int64_t cell_of(const float *s, const float *d)
{
    const struct etx_helix helix = etx_helix_of(s, d);
    const double turn = (helix.phi0 + pi) / (2.0 * pi);
    const int64_t phi0 = (int64_t)(turn * (double)ETX_HOUGH_PHI0_CELLS);
    const int64_t curvature =
        step_of(helix.curvature, ETX_HOUGH_CURVATURE_CELL);
    const int64_t eta = step_of(asinh(helix.cot_theta), ETX_HOUGH_ETA_CELL);

    return (curvature << 42) | (eta << 21) | (phi0 % ETX_HOUGH_PHI0_CELLS);
}

/* votes of the edges order [n], all of one cell. */
static void write_votes(float *votes, const int32_t *order, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        votes[order[k]] = (float)n;
}

etx_status etx_ref_hough_votes(
    struct etx_stream *stream, const struct etx_hough_votes_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n = args->n_edges;
    int64_t *cell;
    int32_t *order;
    int64_t first = 0;
    etx_status status;

    ETX_SCRATCH(cell, stream->arena, n, "Hough cells of edges");
    ETX_SCRATCH(order, stream->arena, n, "edges by Hough cell");
    for (int64_t e = 0; e < n; e++)
        cell[e] = cell_of(args->position + 3 * (int64_t)args->src[e],
            args->position + 3 * (int64_t)args->dst[e]);
    ETX_CHECK(etx_sort_order(order, cell, n));
    for (int64_t k = 1; k <= n; k++)
        if (k == n || cell[order[k]] != cell[order[first]]) {
            write_votes(args->votes, order + first, k - first);
            first = k;
        }
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
