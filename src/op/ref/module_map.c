/* op/ref/module_map.c -- the edges that a module map allows.
 *
 * Hits are sorted by unit and azimuth. For every hit, and every pair of units
 * that begins with its own, the hits of the other unit within the window in
 * azimuth are looked at. A hit depends on no other, and edges are joined in the
 * order of their hits. With triplets, marks that an edge has one are set by
 * several threads, but to one value only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "op/shared/module_map.h"

#include <inttypes.h>
#include <stdatomic.h>

#define BLOCK          64 /* hits of one task */
#define FIRST_CAPACITY 1024

/* What is found, from hits to marks; all but chunk is scratch. */
struct job {
    struct etx_stream *stream;
    const struct etx_module_map_args *args;
    int64_t n_hits; /* on units of the map */
    struct etx_map_search search;
    struct etx_map_edges *chunk; /* [n_chunks] what each task found */
    int64_t n_chunks;
    _Atomic int64_t n_edges;
    struct etx_map_edge *edge;           /* [n_edges] by source, pair */
    struct etx_map_direction *direction; /* [n_edges] */
    struct etx_map_chain chain;
    atomic_uchar *is_kept; /* [n_edges] */
};

/* ----------------------------------------------------------------- hits -- */

/* key [n_hits]: the order of the hits; those on no unit last. *n: the others.
 */
static etx_status make_keys(int64_t *key, int64_t *n,
    const struct etx_module_map_args *args, const struct etx_stream *stream)
{
    etx_status status = ETX_OK;

    *n = 0;
    for (int64_t i = 0; i < args->n_hits; i++) {
        const int32_t unit = etx_map_unit_of(args->map.unit, args->map.n_units,
            args->volume_id[i], args->layer_id[i], args->module_id[i]);

        ETX_POLL_STREAM(stream, i);
        key[i] = INT64_MAX;
        if (unit < 0)
            continue;
        key[i] = unit * (INT64_C(1) << 32) +
                 etx_sort_key(etx_map_hit_of(args->position, i).phi);
        ++*n;
    }
done:
    return status;
}

static etx_status sort_hits(struct job *job)
{
    const struct etx_module_map_args *const args = job->args;
    struct etx_arena *const arena = job->stream->arena;
    const int64_t n = args->n_hits;
    int64_t *key = NULL;
    int32_t *order = NULL;
    struct etx_map_hit *hit = NULL;
    int32_t *unit = NULL;
    int64_t *first = NULL;
    int64_t k = 0;
    etx_status status;

    ETX_SCRATCH(key, arena, n, "order of hits");
    ETX_SCRATCH(order, arena, n, "order of hits");
    ETX_SCRATCH(hit, arena, n, "sorted hits");
    ETX_SCRATCH(unit, arena, n, "units of hits");
    ETX_SCRATCH(first, arena, args->map.n_units + 1, "sorted hits");
    ETX_CHECK(make_keys(key, &job->n_hits, args, job->stream));
    ETX_CHECK(etx_sort_order(order, key, n));
    for (int64_t i = 0; i < job->n_hits; i++) {
        ETX_POLL_STREAM(job->stream, i);
        hit[i] = etx_map_hit_of(args->position, order[i]);
        /* Azimuths are the lower half of a key, and may be negative. */
        unit[i] = (int32_t)((key[order[i]] + (INT64_C(1) << 31)) >> 32);
    }
    for (int64_t u = 0; u <= args->map.n_units; u++) {
        while (k < job->n_hits && unit[k] < u)
            k++;
        first[u] = k;
    }
    job->search = (struct etx_map_search){
        .map = args->map, .hit = hit, .unit = unit, .hit_first = first};
done:
    return status;
}

/* ---------------------------------------------------------------- pairs -- */

/* The edges from hit k, for which the chunk grows. */
static etx_status search_hit(
    struct etx_map_edges *chunk, const struct etx_map_search *search, int64_t k)
{
    const int64_t n = chunk->n;
    etx_status status = ETX_OK;

    etx_map_edges_from(chunk, search, k);
    if (chunk->n <= chunk->capacity)
        return ETX_OK;
    const int64_t wanted =
        chunk->n > FIRST_CAPACITY ? 2 * chunk->n : FIRST_CAPACITY;

    chunk->n = n;
    ETX_CHECK(etx_resize(&chunk->edge, chunk->capacity, wanted,
        sizeof *chunk->edge, "edges of a module map"));
    chunk->capacity = wanted;
    etx_map_edges_from(chunk, search, k);
done:
    return status;
}

static etx_status search_block(void *argument, int64_t block, int32_t worker)
{
    struct job *const job = argument;
    struct etx_map_edges *const chunk = &job->chunk[block];
    const int64_t last = (block + 1) * BLOCK;
    etx_status status;

    (void)worker;
    ETX_CHECK(etx_check_cancelled(job->stream));
    for (int64_t k = block * BLOCK; k < last && k < job->n_hits; k++)
        ETX_CHECK(search_hit(chunk, &job->search, k));
    if (atomic_fetch_add(&job->n_edges, chunk->n) + chunk->n >
        job->args->max_edges)
        status = etx_fail(ETX_ERR_LIMIT,
            "module map: the graph has more than %" PRId64 " edges",
            job->args->max_edges);
done:
    return status;
}

/* The edges of all tasks, one after the other. */
static etx_status gather_edges(struct job *job)
{
    int64_t n = 0;
    etx_status status;

    ETX_SCRATCH(
        job->edge, job->stream->arena, job->n_edges, "edges of a module map");
    for (int64_t c = 0; c < job->n_chunks; c++) {
        ETX_CHECK(etx_check_cancelled(job->stream));
        for (int64_t k = 0; k < job->chunk[c].n; k++)
            job->edge[n++] = job->chunk[c].edge[k];
        etx_free(job->chunk[c].edge);
        job->chunk[c].edge = NULL;
    }
done:
    return status;
}

/* ------------------------------------------------------------- triplets -- */

static void mark(const struct job *job, int64_t e)
{
    atomic_store_explicit(&job->is_kept[e], 1, memory_order_relaxed);
}

/* Mark edge e and the later ones that continue it. */
static void mark_triplets(const struct job *job, int64_t e)
{
    int64_t at = job->chain.edge_first[job->edge[e].dst];
    int64_t triplet = job->args->map.triplet_first[job->edge[e].pair];
    int64_t next = 0;

    while ((next = etx_map_next(
                &job->args->map, &job->chain, e, &at, &triplet)) >= 0) {
        mark(job, e);
        mark(job, next);
    }
}

static etx_status direct_range(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    struct job *const job = argument;

    (void)worker;
    for (int64_t e = begin; e < end; e++) {
        job->direction[e] =
            etx_map_direction_of(&job->search.hit[job->edge[e].src],
                &job->search.hit[job->edge[e].dst]);
        atomic_init(&job->is_kept[e], 0);
    }
    return etx_check_cancelled(job->stream);
}

static etx_status mark_range(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    struct job *const job = argument;

    (void)worker;
    for (int64_t e = begin; e < end; e++)
        mark_triplets(job, e);
    return etx_check_cancelled(job->stream);
}

/* Drop the edges of no triplet. */
static etx_status keep_triplets(struct job *job)
{
    struct etx_arena *const arena = job->stream->arena;
    const int64_t n = job->n_edges;
    int64_t *first = NULL;
    int64_t kept = 0;
    int64_t e = 0;
    etx_status status;

    ETX_SCRATCH(first, arena, job->n_hits + 1, "edges of a module map");
    ETX_SCRATCH(job->direction, arena, n, "directions of edges");
    ETX_SCRATCH(job->is_kept, arena, n, "edges of triplets");
    for (int64_t k = 0; k <= job->n_hits; k++) {
        while (e < n && job->edge[e].src < k)
            e++;
        first[k] = e;
    }
    job->chain = (struct etx_map_chain){job->edge, first, job->direction};
    ETX_CHECK(etx_parallel_ranges(
        job->stream->pool, n, BLOCK * BLOCK, direct_range, job));
    ETX_CHECK(etx_parallel_ranges(
        job->stream->pool, n, BLOCK * BLOCK, mark_range, job));
    for (e = 0; e < n; e++)
        if (atomic_load_explicit(&job->is_kept[e], memory_order_relaxed))
            job->edge[kept++] = job->edge[e];
    job->n_edges = kept;
done:
    return status;
}

/* --------------------------------------------------------------- result -- */

/* What sorting the edges needs, in scratch. */
struct sorting {
    int64_t *offset;                      /* [n_hits + 1] */
    int32_t *src, *dst, *by_src, *by_dst; /* [n_edges] */
};

/* order [n_edges] = edges by their ends, equal ones in order. */
static etx_status sort_ends(const struct job *job,
    const struct sorting *sorting, int32_t *order, const int32_t *ends)
{
    const struct etx_graph_index_args args = {.n_nodes = job->args->n_hits,
        .n_edges = job->n_edges,
        .src = ends,
        .out_offset = sorting->offset,
        .out_edge = order};

    return etx_ref_graph_index(job->stream, &args);
}

/* out: src and dst [n_edges] by (dst, src): sorted by src, then by dst. */
static etx_status sort_edges(const struct etx_edge_list *out,
    const struct job *job, const struct sorting *sorting)
{
    etx_status status;

    for (int64_t e = 0; e < job->n_edges; e++) {
        ETX_POLL_STREAM(job->stream, e);
        sorting->src[e] = job->search.hit[job->edge[e].src].row;
    }
    ETX_CHECK(sort_ends(job, sorting, sorting->by_src, sorting->src));
    for (int64_t t = 0; t < job->n_edges; t++) {
        ETX_POLL_STREAM(job->stream, t);
        sorting->dst[t] =
            job->search.hit[job->edge[sorting->by_src[t]].dst].row;
    }
    ETX_CHECK(sort_ends(job, sorting, sorting->by_dst, sorting->dst));
    for (int64_t t = 0; t < job->n_edges; t++) {
        ETX_POLL_STREAM(job->stream, t);
        out->src[t] = sorting->src[sorting->by_src[sorting->by_dst[t]]];
        out->dst[t] = sorting->dst[sorting->by_dst[t]];
    }
done:
    return status;
}

static etx_status return_edges(const struct job *job)
{
    struct etx_arena *const arena = job->stream->arena;
    const int64_t n = job->n_edges;
    struct etx_edge_list list = {n, NULL, NULL};
    struct sorting sorting = {0};
    int32_t **const ends[] = {
        &sorting.src, &sorting.dst, &sorting.by_src, &sorting.by_dst};
    etx_status status;

    ETX_SCRATCH(sorting.offset, arena, job->args->n_hits + 1, "order of edges");
    for (int32_t k = 0; k < 4; k++)
        ETX_CHECK(etx_arena_alloc(
            ends[k], arena, n, sizeof **ends[k], "order of edges"));
    ETX_CHECK(
        etx_alloc_uncleared(&list.src, n, sizeof *list.src, "edge sources"));
    ETX_CHECK(
        etx_alloc_uncleared(&list.dst, n, sizeof *list.dst, "edge targets"));
    ETX_CHECK(sort_edges(&list, job, &sorting));
    *job->args->out = list;
    list = (struct etx_edge_list){0, NULL, NULL};
done:
    etx_free(list.src);
    etx_free(list.dst);
    return status;
}

etx_status etx_ref_module_map(
    struct etx_stream *stream, const struct etx_module_map_args *args)
{
    const struct etx_arena_mark start = etx_arena_mark(stream->arena);
    struct job job = {.stream = stream, .args = args};
    etx_status status;

    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(sort_hits(&job));
    job.n_chunks = (job.n_hits + BLOCK - 1) / BLOCK;
    ETX_NEW(job.chunk, job.n_chunks, "edges of a module map");
    ETX_CHECK(etx_parallel_for(stream->pool, job.n_chunks, search_block, &job));
    ETX_CHECK(gather_edges(&job));
    if (args->map.n_triplets > 0)
        ETX_CHECK(keep_triplets(&job));
    ETX_CHECK(return_edges(&job));
done:
    for (int64_t c = 0; job.chunk != NULL && c < job.n_chunks; c++)
        etx_free(job.chunk[c].edge);
    etx_free(job.chunk);
    etx_arena_reset(stream->arena, start);
    return status;
}
