/* stage/graph_construction/build_map.c -- the edges that a module map allows.
 *
 * Hits are sorted by unit and azimuth. For every hit, and every pair of units
 * that begins with its own, the hits of the other unit within the window in
 * azimuth are looked at. A hit depends on no other, and edges are joined in the
 * order of their hits. With triplets, marks that an edge has one are set by
 * several threads, but to one value only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/graph_construction/module_map.h"

#include "base/check.h"
#include "base/constants.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "stage/stage.h"

#include <inttypes.h>
#include <stdatomic.h>

#define BLOCK          64 /* hits of one task */
#define FIRST_CAPACITY 1024
#define SLACK          1e-5 /* rad, more than the rounding of azimuths */

/* An edge between sorted hits. */
struct map_edge {
    int32_t src, dst;
    int32_t pair; /* of the map */
};

/* What one task found. */
struct chunk {
    struct map_edge *edge;
    int64_t n, capacity;
};

struct map_search {
    const struct etx_stream *stream;
    const struct etx_module_map *map;
    int64_t n_hits;          /* on units of the map */
    struct etx_map_hit *hit; /* [n_hits] by unit, azimuth, row */
    int32_t *unit;           /* [n_hits] */
    int64_t *hit_first;      /* [n_units + 1] into hit */
    int64_t *pair_first;     /* [n_units + 1] into the pairs of the map */
    struct chunk *chunk;     /* [n_chunks] */
    int64_t n_chunks;
    int64_t max_edges;
    _Atomic int64_t n_edges;
    struct map_edge *edge;  /* [n_edges] by source, pair */
    int64_t *edge_first;    /* [n_hits + 1] into edge, by source */
    int64_t *triplet_first; /* [n_pairs + 1] into the triplets of the map */
    struct etx_map_direction *direction; /* [n_edges] */
    atomic_uchar *is_kept;               /* [n_edges] */
};

/* first [n + 1]: where the rows of every key below n begin in rows [n_rows,
 * width], whose first columns ascend. */
static void find_first(int64_t *first, int64_t n, const int64_t *rows,
    int64_t n_rows, int32_t width)
{
    int64_t k = 0;

    for (int64_t key = 0; key <= n; key++) {
        while (k < n_rows && rows[k * width] < key)
            k++;
        first[key] = k;
    }
}

/* ----------------------------------------------------------------- hits -- */

/* key [n_hits]: the order of the hits; those on no unit last. */
static void make_keys(
    int64_t *key, struct map_search *search, const struct etx_event *event)
{
    for (int64_t i = 0; i < event->n_hits; i++) {
        const int32_t unit = etx_module_map_unit(search->map,
            event->volume_id[i], event->layer_id[i], event->module_id[i]);

        key[i] = INT64_MAX;
        if (unit < 0)
            continue;
        key[i] = unit * (INT64_C(1) << 32) +
                 etx_sort_key(etx_map_hit_of(event, i).phi);
        search->n_hits++;
    }
}

static etx_status sort_hits(struct map_search *search,
    const struct etx_event *event, struct etx_arena *arena)
{
    const int64_t n = event->n_hits;
    int64_t *key = NULL;
    int32_t *order = NULL;
    int64_t k = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&key, arena, n, sizeof *key, "order of hits"));
    ETX_CHECK(
        etx_arena_alloc(&order, arena, n, sizeof *order, "order of hits"));
    make_keys(key, search, event);
    ETX_CHECK(etx_sort_order(order, key, n));
    ETX_CHECK(etx_arena_alloc(
        &search->hit, arena, n, sizeof *search->hit, "sorted hits"));
    ETX_CHECK(etx_arena_alloc(
        &search->unit, arena, n, sizeof *search->unit, "units of hits"));
    ETX_CHECK(etx_arena_alloc(&search->hit_first, arena,
        search->map->n_units + 1, sizeof *search->hit_first, "sorted hits"));
    for (int64_t i = 0; i < search->n_hits; i++) {
        search->hit[i] = etx_map_hit_of(event, order[i]);
        /* Azimuths are the lower half of a key, and may be negative. */
        search->unit[i] = (int32_t)((key[order[i]] + (INT64_C(1) << 31)) >> 32);
    }
    for (int64_t u = 0; u <= search->map->n_units; u++) {
        while (k < search->n_hits && search->unit[k] < u)
            k++;
        search->hit_first[u] = k;
    }
done:
    return status;
}

/* ---------------------------------------------------------------- pairs -- */

/* The first of hits begin .. end - 1 from azimuth phi on. */
static int64_t find_azimuth(
    const struct etx_map_hit *hit, int64_t begin, int64_t end, double phi)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;

        if ((double)hit[middle].phi < phi)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static int32_t is_within(
    const struct etx_map_window *window, const float *value, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        if (value[k] < window[k].low || value[k] > window[k].high)
            return 0;
    return 1;
}

static int32_t is_doublet(const struct etx_map_window *window,
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    float value[ETX_MAP_N_DOUBLET];
    const float deta = b->eta - a->eta;

    if (deta < window[ETX_MAP_DETA].low || deta > window[ETX_MAP_DETA].high ||
        !etx_map_is_outward(a, b))
        return 0; /* most of them, without a division */
    etx_map_doublet(value, a, b);
    return is_within(window, value, ETX_MAP_N_DOUBLET);
}

static etx_status add_edge(struct chunk *chunk, struct map_edge edge)
{
    etx_status status = ETX_OK;

    if (chunk->n == chunk->capacity) {
        const int64_t more =
            chunk->capacity > 0 ? 2 * chunk->capacity : FIRST_CAPACITY;

        ETX_CHECK(etx_resize(&chunk->edge, chunk->n, more, sizeof *chunk->edge,
            "edges of a module map"));
        chunk->capacity = more;
    }
    chunk->edge[chunk->n++] = edge;
done:
    return status;
}

/* Edges from hit `src` to the hits begin .. end - 1. */
static etx_status join(struct chunk *chunk, const struct map_search *search,
    struct map_edge edge, int64_t begin, int64_t end)
{
    const struct etx_map_window *const window =
        search->map->pair_window + (int64_t)edge.pair * ETX_MAP_N_DOUBLET;
    etx_status status = ETX_OK;

    for (int64_t k = begin; k < end; k++) {
        if (!is_doublet(window, &search->hit[edge.src], &search->hit[k]))
            continue;
        edge.dst = (int32_t)k;
        ETX_CHECK(add_edge(chunk, edge));
    }
done:
    return status;
}

/* The window in azimuth may lie across -pi and pi: it is moved by a turn. */
static etx_status search_pair(
    struct chunk *chunk, const struct map_search *search, struct map_edge edge)
{
    const struct etx_map_window *const dphi =
        search->map->pair_window + (int64_t)edge.pair * ETX_MAP_N_DOUBLET +
        ETX_MAP_DPHI;
    const int64_t unit = search->map->pair[2 * (int64_t)edge.pair + 1];
    const int64_t begin = search->hit_first[unit];
    const int64_t end = search->hit_first[unit + 1];
    const double phi = (double)search->hit[edge.src].phi;
    const double low = phi + (double)dphi->low - SLACK;
    const double high = phi + (double)dphi->high + SLACK;
    etx_status status = ETX_OK;

    if (begin == end)
        return ETX_OK;
    if (high - low >= (2.0 * ETX_PI))
        return join(chunk, search, edge, begin, end);
    for (int32_t turn = -1; turn <= 1; turn++)
        ETX_CHECK(join(chunk, search, edge,
            find_azimuth(search->hit, begin, end, low + turn * (2.0 * ETX_PI)),
            find_azimuth(
                search->hit, begin, end, high + turn * (2.0 * ETX_PI))));
done:
    return status;
}

static etx_status search_block(void *argument, int64_t block, int32_t worker)
{
    struct map_search *const search = argument;
    struct chunk *const chunk = &search->chunk[block];
    const int64_t last = (block + 1) * BLOCK;
    etx_status status;

    ETX_CHECK(worker == 0 ? etx_check_cancelled(search->stream) : ETX_OK);
    for (int64_t k = block * BLOCK; k < last && k < search->n_hits; k++) {
        const int64_t unit = search->unit[k];

        for (int64_t p = search->pair_first[unit];
             p < search->pair_first[unit + 1]; p++)
            ETX_CHECK(search_pair(chunk, search,
                (struct map_edge){.src = (int32_t)k, .pair = (int32_t)p}));
    }
    if (atomic_fetch_add(&search->n_edges, chunk->n) + chunk->n >
        search->max_edges)
        status = etx_fail(ETX_ERR_LIMIT,
            "module map: the graph has more than %" PRId64 " edges",
            search->max_edges);
done:
    return status;
}

/* The edges of all tasks, one after the other. */
static etx_status gather_edges(
    struct map_search *search, struct etx_arena *arena)
{
    int64_t n = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&search->edge, arena, search->n_edges,
        sizeof *search->edge, "edges of a module map"));
    for (int64_t c = 0; c < search->n_chunks; c++) {
        for (int64_t k = 0; k < search->chunk[c].n; k++)
            search->edge[n++] = search->chunk[c].edge[k];
        etx_free(search->chunk[c].edge);
        search->chunk[c].edge = NULL;
    }
done:
    return status;
}

/* ------------------------------------------------------------- triplets -- */

/* Mark edge and those behind it that continue it. */
static void mark_triplets(struct map_search *search, int64_t edge)
{
    const struct etx_module_map *const map = search->map;
    const int32_t middle = search->edge[edge].dst;
    int64_t next = search->edge_first[middle];
    int64_t t = search->triplet_first[search->edge[edge].pair];
    const int64_t last = search->triplet_first[search->edge[edge].pair + 1];
    float value[ETX_MAP_N_TRIPLET];

    while (next < search->edge_first[middle + 1] && t < last) {
        const int64_t wanted = map->triplet[2 * t + 1];

        if (search->edge[next].pair > wanted) {
            t++;
            continue;
        }
        if (search->edge[next].pair == wanted) {
            etx_map_triplet(
                value, &search->direction[edge], &search->direction[next]);
            if (is_within(map->triplet_window + t * ETX_MAP_N_TRIPLET, value,
                    ETX_MAP_N_TRIPLET)) {
                atomic_store_explicit(
                    &search->is_kept[edge], 1, memory_order_relaxed);
                atomic_store_explicit(
                    &search->is_kept[next], 1, memory_order_relaxed);
            }
        }
        next++;
    }
}

static etx_status direct_range(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    struct map_search *const search = argument;

    for (int64_t e = begin; e < end; e++) {
        search->direction[e] =
            etx_map_direction_of(&search->hit[search->edge[e].src],
                &search->hit[search->edge[e].dst]);
        atomic_init(&search->is_kept[e], 0);
    }
    return worker == 0 ? etx_check_cancelled(search->stream) : ETX_OK;
}

static etx_status mark_range(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    struct map_search *const search = argument;

    for (int64_t e = begin; e < end; e++)
        mark_triplets(search, e);
    return worker == 0 ? etx_check_cancelled(search->stream) : ETX_OK;
}

/* Drop the edges of no triplet. */
static etx_status keep_triplets(
    struct map_search *search, struct etx_arena *arena)
{
    const int64_t n = search->n_edges;
    int64_t kept = 0;
    int64_t e = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&search->edge_first, arena, search->n_hits + 1,
        sizeof *search->edge_first, "edges of a module map"));
    ETX_CHECK(
        etx_arena_alloc(&search->triplet_first, arena, search->map->n_pairs + 1,
            sizeof *search->triplet_first, "triplets of a module map"));
    ETX_CHECK(etx_arena_alloc(&search->direction, arena, n,
        sizeof *search->direction, "directions of edges"));
    ETX_CHECK(etx_arena_alloc(&search->is_kept, arena, n,
        sizeof *search->is_kept, "edges of triplets"));
    for (int64_t k = 0; k <= search->n_hits; k++) {
        while (e < n && search->edge[e].src < k)
            e++;
        search->edge_first[k] = e;
    }
    find_first(search->triplet_first, search->map->n_pairs,
        search->map->triplet, search->map->n_triplets, 2);
    ETX_CHECK(etx_parallel_ranges(
        search->stream->pool, n, BLOCK * BLOCK, direct_range, search));
    ETX_CHECK(etx_parallel_ranges(
        search->stream->pool, n, BLOCK * BLOCK, mark_range, search));
    for (e = 0; e < n; e++)
        if (atomic_load_explicit(&search->is_kept[e], memory_order_relaxed))
            search->edge[kept++] = search->edge[e];
    search->n_edges = kept;
done:
    return status;
}

/* ---------------------------------------------------------------- graph -- */

static etx_status make_graph(struct etx_graph **out,
    const struct map_search *search, const struct etx_event *event,
    struct etx_arena *arena)
{
    struct etx_edges edges = {
        .n_nodes = event->n_hits, .n_edges = search->n_edges};
    int32_t *src = NULL;
    int32_t *dst = NULL;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&src, arena, edges.n_edges, sizeof *src, "edge ends"));
    ETX_CHECK(
        etx_arena_alloc(&dst, arena, edges.n_edges, sizeof *dst, "edge ends"));
    for (int64_t e = 0; e < edges.n_edges; e++) {
        src[e] = search->hit[search->edge[e].src].row;
        dst[e] = search->hit[search->edge[e].dst].row;
    }
    edges.src = src;
    edges.dst = dst;
    ETX_CHECK(etx_graph_sort(out, NULL, NULL, &edges));
done:
    return status;
}

/* All edges of search, by hits and pairs. */
static etx_status find_edges(struct map_search *search,
    const struct etx_event *event, struct etx_arena *arena)
{
    const struct etx_module_map *const map = search->map;
    etx_status status;

    ETX_CHECK(sort_hits(search, event, arena));
    ETX_CHECK(etx_arena_alloc(&search->pair_first, arena, map->n_units + 1,
        sizeof *search->pair_first, "pairs of a module map"));
    find_first(search->pair_first, map->n_units, map->pair, map->n_pairs, 2);
    search->n_chunks = (search->n_hits + BLOCK - 1) / BLOCK;
    ETX_CHECK(etx_alloc(&search->chunk, search->n_chunks, sizeof *search->chunk,
        "edges of a module map"));
    ETX_CHECK(etx_parallel_for(
        search->stream->pool, search->n_chunks, search_block, search));
    ETX_CHECK(gather_edges(search, arena));
    if (map->n_triplets > 0)
        ETX_CHECK(keep_triplets(search, arena));
done:
    for (int64_t c = 0; search->chunk != NULL && c < search->n_chunks; c++)
        etx_free(search->chunk[c].edge);
    etx_free(search->chunk);
    return status;
}

etx_status etx_module_map_build(struct etx_graph **out,
    struct etx_context *context, const struct etx_module_map *map,
    const struct etx_event *event, int64_t max_edges)
{
    const struct etx_stream *const stream = etx_host_of(context)->stream;
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct map_search search = {.stream = stream,
        .map = map,
        .max_edges = etx_stage_free_edges(context, event->n_hits, max_edges)};
    etx_status status;

    if (event->module_id == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "module map: the event has no modules: see etx_event_set_modules");
    ETX_CHECK(find_edges(&search, event, stream->arena));
    ETX_CHECK(make_graph(out, &search, event, stream->arena));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
