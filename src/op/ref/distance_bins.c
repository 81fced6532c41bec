/* op/ref/distance_bins.c -- distances of the points of pairs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

static double squared_distance(const float *a, const float *b, int32_t n_dim)
{
    double sum = 0.0;

    for (int32_t k = 0; k < n_dim; k++) {
        const double d = (double)a[k] - (double)b[k];

        sum += d * d;
    }
    return sum;
}

static void count_pairs(const struct etx_distance_bins_args *args,
    const struct etx_edge_list *pairs)
{
    const double whole = (double)args->radius * (double)args->radius;
    const int64_t n_dim = args->n_dim;
    const int64_t last = (int64_t)args->n_bins - 1;

    memset(args->count, 0, (size_t)args->n_bins * sizeof *args->count);
    for (int64_t e = 0; e < pairs->n_edges; e++) {
        const float *a = args->point + pairs->src[e] * n_dim;
        const float *b = args->point + pairs->dst[e] * n_dim;
        const double square = squared_distance(a, b, args->n_dim);
        const double bin = (double)args->n_bins * (square / whole);

        args->count[bin < (double)args->n_bins ? (int64_t)bin : last]++;
    }
}

etx_status etx_ref_distance_bins(
    struct etx_stream *stream, const struct etx_distance_bins_args *args)
{
    struct etx_edge_list pairs = {0, NULL, NULL};
    const struct etx_radius_graph_args search = {.n_points = args->n_points,
        .n_dim = args->n_dim,
        .radius = args->radius,
        .point = args->point,
        .max_edges = args->max_edges,
        .out = &pairs};
    etx_status status;

    ETX_CHECK(args->radius_graph(stream, &search));
    count_pairs(args, &pairs);
done:
    etx_free(pairs.src);
    etx_free(pairs.dst);
    return status;
}
