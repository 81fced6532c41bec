/* cuda/op/module_map.cu -- the edges that a module map allows.
 *
 * A radix sort puts the hits in order of unit and azimuth, so that threads side
 * by side try the same pairs and nearly the same hits. Each counts the edges
 * from its hit, then writes them at the sum of the counts before: by source and
 * pair, as the search for triplets wants them. The code of a hit, an edge and
 * its triplets is the reference's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

#include "op/shared/module_map.h"

#include <inttypes.h>

/* key = unit, azimuth; hits on no unit have the unit n_units. */
__global__ static void hits_kernel(uint64_t *key, int32_t *row,
    struct etx_map_hit *hit, struct etx_module_map_args args)
{
    for (int64_t i = etx_first_item(); i < args.n_hits; i += etx_item_step()) {
        const int64_t unit = etx_map_unit_of(args.map.unit, args.map.n_units,
            args.volume_id[i], args.layer_id[i], args.module_id[i]);

        hit[i] = etx_map_hit_of(args.position, i);
        key[i] = (uint64_t)(unit < 0 ? args.map.n_units : unit) << 32 |
                 etx_ordered(hit[i].phi);
        row[i] = (int32_t)i;
    }
}

/* Hits, their units and the first [n_units + 2] of each unit, in order. */
__global__ static void order_kernel(struct etx_map_hit *sorted, int32_t *unit,
    int64_t *first, const struct etx_map_hit *hit, const uint64_t *key,
    const int32_t *row, int64_t n_hits, int64_t n_units)
{
    for (int64_t k = etx_first_item(); k <= n_hits; k += etx_item_step()) {
        etx_begin_runs(first, key, 32, k, n_units + 1, n_hits);
        if (k == n_hits)
            break;
        sorted[k] = hit[row[k]];
        unit[k] = (int32_t)(key[k] >> 32);
    }
}

/* count [n_hits + 1], the last 0. */
__global__ static void count_kernel(
    int64_t *count, struct etx_map_search search, int64_t n_hits)
{
    for (int64_t k = etx_first_item(); k <= n_hits; k += etx_item_step()) {
        struct etx_map_edges none = {NULL, 0, 0};

        if (k < n_hits && search.unit[k] < search.map.n_units)
            etx_map_edges_from(&none, &search, k);
        count[k] = none.n;
    }
}

__global__ static void fill_kernel(struct etx_map_edge *edge,
    const int64_t *first, struct etx_map_search search, int64_t n_hits)
{
    for (int64_t k = etx_first_item(); k < n_hits; k += etx_item_step()) {
        struct etx_map_edges out = {
            edge + first[k], first[k + 1] - first[k], 0};

        if (out.capacity > 0)
            etx_map_edges_from(&out, &search, k);
    }
}

__global__ static void directions_kernel(struct etx_map_direction *direction,
    const struct etx_map_edge *edge, const struct etx_map_hit *hit,
    int64_t n_edges)
{
    for (int64_t e = etx_first_item(); e < n_edges; e += etx_item_step())
        direction[e] =
            etx_map_direction_of(&hit[edge[e].src], &hit[edge[e].dst]);
}

/* kept [n_edges], 0 before: 1 for the edges of triplets. */
__global__ static void triplets_kernel(uint8_t *kept, struct etx_map_table map,
    struct etx_map_chain chain, int64_t n_edges)
{
    for (int64_t e = etx_first_item(); e < n_edges; e += etx_item_step()) {
        int64_t at = chain.edge_first[chain.edge[e].dst];
        int64_t triplet = map.triplet_first[chain.edge[e].pair];
        int64_t next = 0;

        while ((next = etx_map_next(&map, &chain, e, &at, &triplet)) >= 0) {
            etx_write_same(&kept[e], (uint8_t)1);
            etx_write_same(&kept[next], (uint8_t)1);
        }
    }
}

/* key [n] = the edges chosen [n], or all, by the rows of their ends. */
__global__ static void keys_kernel(uint64_t *key,
    const struct etx_map_edge *edge, const int32_t *chosen,
    const struct etx_map_hit *hit, int64_t n, int32_t shift)
{
    for (int64_t t = etx_first_item(); t < n; t += etx_item_step()) {
        const struct etx_map_edge e = edge[chosen == NULL ? t : chosen[t]];

        key[t] = (uint64_t)(uint32_t)hit[e.dst].row << shift |
                 (uint32_t)hit[e.src].row;
    }
}

/* The arrays of search, in order. */
static etx_status sort_hits(struct etx_map_search *search,
    struct etx_cuda_scratch *scratch, struct etx_stream *stream,
    const struct etx_module_map_args *args)
{
    const int64_t n = args->n_hits;
    const int64_t n_units = args->map.n_units;
    struct etx_map_hit *hit = NULL;
    struct etx_map_hit *sorted = NULL;
    uint64_t *key = NULL;
    uint64_t *sorted_key = NULL;
    int32_t *row = NULL;
    int32_t *order = NULL;
    int32_t *unit = NULL;
    int64_t *first = NULL;

    ETX_TRY(scratch->alloc(&hit, n, "hits"));
    ETX_TRY(scratch->alloc(&sorted, n, "sorted hits"));
    ETX_TRY(scratch->alloc(&key, n, "order of hits"));
    ETX_TRY(scratch->alloc(&sorted_key, n, "order of hits"));
    ETX_TRY(scratch->alloc(&row, n, "order of hits"));
    ETX_TRY(scratch->alloc(&order, n, "order of hits"));
    ETX_TRY(scratch->alloc(&unit, n, "units of hits"));
    ETX_TRY(scratch->alloc(&first, n_units + 2, "sorted hits"));
    ETX_TRY(etx_launch(stream, n, hits_kernel, key, row, hit, *args));
    ETX_TRY(etx_cuda_sort_pairs(
        stream, sorted_key, key, order, row, n, 32 + etx_bits_of(n_units + 1)));
    ETX_TRY(etx_launch(stream, n + 1, order_kernel, sorted, unit, first, hit,
        sorted_key, order, n, n_units));
    *search = (struct etx_map_search){args->map, sorted, unit, first};
    return ETX_OK;
}

/* *chosen [*n]: the edges of triplets. */
static etx_status keep_triplets(int32_t **chosen, int64_t *n,
    struct etx_cuda_scratch *scratch, struct etx_stream *stream,
    const struct etx_map_search *search, const struct etx_map_edge *edge,
    const int64_t *edge_first)
{
    const int64_t n_edges = *n;
    struct etx_map_direction *direction = NULL;
    uint8_t *kept = NULL;

    ETX_TRY(scratch->alloc(&direction, n_edges, "directions of edges"));
    ETX_TRY(scratch->alloc(&kept, n_edges, "edges of triplets"));
    ETX_TRY(scratch->alloc(chosen, n_edges, "edges of triplets"));
    ETX_CUDA(
        cudaMemsetAsync(kept, 0, (size_t)n_edges, etx_cuda_of(stream)->stream));
    ETX_TRY(etx_launch(stream, n_edges, directions_kernel, direction, edge,
        search->hit, n_edges));
    const struct etx_map_chain chain = {edge, edge_first, direction};

    ETX_TRY(etx_launch(
        stream, n_edges, triplets_kernel, kept, search->map, chain, n_edges));
    return etx_cuda_compact(stream, *chosen, n, kept, n_edges);
}

etx_status etx_cuda_module_map(
    struct etx_stream *stream, const struct etx_module_map_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int32_t shift = etx_bits_of(args->n_hits);
    struct etx_map_search search = {};
    struct etx_map_edge *edge = NULL;
    int64_t *count = NULL;
    int64_t *first = NULL;
    int32_t *chosen = NULL;
    uint64_t *key = NULL;
    int64_t n = 0;

    ETX_TRY(sort_hits(&search, &scratch, stream, args));
    ETX_TRY(
        scratch.alloc_all(args->n_hits + 1, "edges of hits", &count, &first));
    ETX_TRY(etx_launch(
        stream, args->n_hits + 1, count_kernel, count, search, args->n_hits));
    ETX_TRY(etx_cuda_sums_before(stream, first, count, args->n_hits + 1));
    ETX_TRY(etx_memory_to_host(
        stream->memory, &n, first + args->n_hits, 1, sizeof n));
    if (n > args->max_edges)
        return etx_fail(ETX_ERR_LIMIT,
            "module map: the graph has more than %" PRId64 " edges",
            args->max_edges);
    ETX_TRY(scratch.alloc(&edge, n, "edges of a module map"));
    ETX_TRY(etx_launch(
        stream, args->n_hits, fill_kernel, edge, first, search, args->n_hits));
    if (args->map.n_triplets > 0)
        ETX_TRY(
            keep_triplets(&chosen, &n, &scratch, stream, &search, edge, first));
    ETX_TRY(scratch.alloc(&key, n, "edges of a module map"));
    ETX_TRY(etx_launch(
        stream, n, keys_kernel, key, edge, chosen, search.hit, n, shift));
    return etx_cuda_return_edges(stream, args->out, key, n, shift);
}
