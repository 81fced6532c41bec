/* train/sampling/hard_negatives.c -- pairs of query hits with the points near
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/hard_negatives.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/select.h"

#include <string.h>

#define QUERIES_PER_BLOCK 16

/* Common to all blocks of queries. */
struct search {
    const struct etx_hard_negatives_args *args;
    int64_t capacity;    /* pairs per query */
    const float *column; /* [n_dim, n_points] */
    float *distance;     /* [workers, n_points] */
    uint64_t *key;       /* [workers, n_points] */
    int32_t *found;      /* [n_queries, capacity] */
    int64_t *n_found;    /* [n_queries] */
};

static void find_distances(
    float *distance, const struct search *search, const float *query)
{
    const int64_t n = search->args->n_points;

    memset(distance, 0, (size_t)n * sizeof *distance);
    for (int32_t k = 0; k < search->args->n_dim; k++) {
        const float *column = search->column + k * n;
        const float at = query[k];

        for (int64_t j = 0; j < n; j++) {
            const float d = column[j] - at;
            distance[j] += d * d;
        }
    }
}

/* Squared distance and index of every candidate as one integer, which orders
 * as the distance does; returns their number. */
static int64_t find_candidates(uint64_t *key, const struct search *search,
    const float *distance, int32_t query)
{
    const struct etx_hard_negatives_args *args = search->args;
    const float limit = args->radius * args->radius;
    const int32_t own = args->particle[query];
    int64_t count = 0;

    for (int64_t j = 0; j < args->n_points; j++) {
        uint32_t bits;

        memcpy(&bits, distance + j, sizeof bits);
        key[count] = (uint64_t)bits << 32 | (uint64_t)j;
        count += distance[j] <= limit && j != query &&
                 (args->with_own || own < 0 || args->particle[j] != own);
    }
    return count;
}

static void swap(uint64_t *key, int64_t i, int64_t j)
{
    const uint64_t kept = key[i];

    key[i] = key[j];
    key[j] = kept;
}

/* n random keys of key [first ... count) become the first of them: partial
 * Fisher-Yates. */
static void draw_others(uint64_t *key, int64_t first, int64_t count, int64_t n,
    struct etx_random *random)
{
    for (int64_t k = 0; k < n; k++) {
        const uint64_t left = (uint64_t)(count - first - k);

        swap(key, first + k,
            first + k + (int64_t)etx_random_below(random, left));
    }
}

static void search_query(
    const struct search *search, int64_t q, float *distance, uint64_t *key)
{
    const struct etx_hard_negatives_args *args = search->args;
    const int32_t query = args->query[q];
    int32_t *found = search->found + q * search->capacity;
    int64_t count;
    int64_t n;

    find_distances(
        distance, search, args->point + (int64_t)query * args->n_dim);
    count = find_candidates(key, search, distance, query);
    if (args->n_pool > 0 && count > args->n_pool) {
        etx_select(key, count, args->n_pool);
        count = args->n_pool;
    }
    n = count < search->capacity ? count : search->capacity;
    if (count > search->capacity) {
        struct etx_random random;

        etx_select(key, count, args->n_nearest);
        etx_random_init(&random, args->seed, (uint32_t)q, 0);
        draw_others(key, args->n_nearest, count, args->n_other, &random);
    }
    for (int64_t k = 0; k < n; k++)
        found[k] = (int32_t)(key[k] & 0xffffffffu);
    search->n_found[q] = n;
}

static etx_status search_block(void *argument, int64_t block, int32_t worker)
{
    const struct search *search = argument;
    const int64_t n = search->args->n_points;
    const int64_t begin = block * QUERIES_PER_BLOCK;
    const int64_t end = begin + QUERIES_PER_BLOCK < search->args->n_queries
                            ? begin + QUERIES_PER_BLOCK
                            : search->args->n_queries;

    for (int64_t q = begin; q < end; q++)
        search_query(search, q, search->distance + worker * n,
            search->key + worker * (n + 1));
    return ETX_OK;
}

static etx_status open_search(struct search *search, struct etx_arena *arena,
    int32_t n_workers, const struct etx_hard_negatives_args *args)
{
    const int64_t n = args->n_points;
    float *column;
    etx_status status;

    search->args = args;
    search->capacity = (int64_t)args->n_nearest + args->n_other;
    if (search->capacity > n)
        search->capacity = n;
    ETX_SCRATCH(column, arena, n * args->n_dim, "points");
    ETX_SCRATCH(search->distance, arena, n * n_workers, "distances");
    ETX_SCRATCH(search->key, arena, (n + 1) * n_workers, "candidates");
    ETX_SCRATCH(
        search->found, arena, args->n_queries * search->capacity, "hard pairs");
    ETX_SCRATCH(search->n_found, arena, args->n_queries, "hard pairs");
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = 0; k < args->n_dim; k++)
            column[k * n + i] = args->point[i * args->n_dim + k];
    search->column = column;
done:
    return status;
}

etx_status etx_hard_negatives(int32_t **a, int32_t **b, int64_t *n_pairs,
    struct etx_stream *stream, const struct etx_hard_negatives_args *args)
{
    const int64_t n_blocks =
        (args->n_queries + QUERIES_PER_BLOCK - 1) / QUERIES_PER_BLOCK;
    struct search search;
    int64_t n = 0;
    etx_status status;

    ETX_CHECK(open_search(
        &search, stream->arena, etx_pool_n_threads(stream->pool), args));
    ETX_CHECK(etx_parallel_for(stream->pool, n_blocks, search_block, &search));
    for (int64_t q = 0; q < args->n_queries; q++)
        n += search.n_found[q];
    ETX_CHECK(etx_arena_alloc(a, stream->arena, n, sizeof **a, "hard pairs"));
    ETX_CHECK(etx_arena_alloc(b, stream->arena, n, sizeof **b, "hard pairs"));
    *n_pairs = 0;
    for (int64_t q = 0; q < args->n_queries; q++)
        for (int64_t k = 0; k < search.n_found[q]; k++) {
            (*a)[*n_pairs] = args->query[q];
            (*b)[*n_pairs] = search.found[q * search.capacity + k];
            ++*n_pairs;
        }
done:
    return status;
}
