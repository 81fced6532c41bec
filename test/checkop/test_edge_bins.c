/* checkop/test_edge_bins.c -- edges collected in bins come out sorted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "checkop.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/heap.h"

#include "op/simd/edge_bins.h"

/* Around the sizes at which the number of bins, the digits and the width of a
 * key change. */
static const int64_t sizes[] = {1, 2, 63, 64, 65, 1000, 16384, 16385, 99985,
    262144, 262145, 1048576, 1048577, 5000000, 20000000};
#define N_SIZES ROWS(sizes)

static int ascending(const void *a, const void *b)
{
    const uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

    return (one > two) - (one < two);
}

/* n different edges, (dst, src) in one integer: random, then all into one
 * target. */
static uint64_t *make_edges(int64_t *n, int64_t n_points)
{
    const int64_t wanted = 20000;
    uint64_t *edge = checkop_buffer(2 * wanted, sizeof *edge);
    int64_t kept = 0;

    for (int64_t e = 0; e < wanted; e++) {
        const uint64_t bound = (uint64_t)n_points;
        edge[e] = etx_random_below(&check.random, bound) << 32 |
                  etx_random_below(&check.random, bound);
    }
    for (int64_t e = 0; e < wanted; e++)
        edge[wanted + e] =
            (uint64_t)(n_points / 2) << 32 | (uint64_t)(e % n_points);
    qsort(edge, (size_t)(2 * wanted), sizeof *edge, ascending);
    for (int64_t e = 0; e < 2 * wanted; e++)
        if (kept == 0 || edge[kept - 1] != edge[e])
            edge[kept++] = edge[e];
    *n = kept;
    return edge;
}

/* What the writers add: a share of the edges each, in a random order. */
struct share {
    struct etx_edge_bins *bins;
    const uint64_t *edge;
    const int32_t *order;
    int64_t n;
};

#define BLOCK 512

static etx_status add_block(void *argument, int64_t block, int32_t worker)
{
    const struct share *share = argument;
    const struct etx_edge_pack pack = share->bins->pack;
    const int64_t begin = block * BLOCK;
    const int64_t end = begin + BLOCK < share->n ? begin + BLOCK : share->n;
    etx_status status = ETX_OK;

    for (int64_t t = begin; t < end; t++) {
        const uint64_t edge = share->edge[share->order[t]];
        ETX_CHECK(etx_edge_bins_add(share->bins, &share->bins->writer[worker],
            pack, (uint32_t)edge, (uint32_t)(edge >> 32)));
    }
done:
    return status;
}

CHECKOP_TEST(test_edge_bins_sort, .rows = N_SIZES)
{
    int64_t n = 0;
    const uint64_t *edge = make_edges(&n, sizes[_i]);
    const int32_t *order = checkop_permutation(n);

    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++) {
        struct etx_stream *stream = &check.stream[p];
        const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
        struct etx_edge_bins bins;
        struct etx_edge_list list = {0, NULL, NULL};
        ck_assert_ok(etx_edge_bins_open(&bins, stream, sizes[_i]));
        struct share share = {&bins, edge, order, n};
        ck_assert_ok(etx_parallel_for(
            stream->pool, (n + BLOCK - 1) / BLOCK, add_block, &share));
        ck_assert_ok(etx_edge_bins_sort(&list, &bins, stream));
        ck_assert_int_eq(list.n_edges, n);
        for (int64_t e = 0; e < n; e++)
            if (list.src[e] != (int32_t)(uint32_t)edge[e] ||
                list.dst[e] != (int32_t)(edge[e] >> 32))
                ck_abort_msg("edge %d of %d points", (int)e, (int)sizes[_i]);
        etx_free(list.src);
        etx_free(list.dst);
        etx_edge_bins_close(&bins);
        etx_arena_reset(stream->arena, mark);
    }
}

CHECKOP_TEST(test_edge_bins_empty)
{
    struct etx_stream *stream = &check.stream[1];
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_edge_bins bins;
    struct etx_edge_list list = {-1, NULL, NULL};

    ck_assert_ok(etx_edge_bins_open(&bins, stream, 777));
    ck_assert_ok(etx_edge_bins_sort(&list, &bins, stream));
    ck_assert_int_eq(list.n_edges, 0);
    etx_free(list.src);
    etx_free(list.dst);
    etx_edge_bins_close(&bins);
    etx_arena_reset(stream->arena, mark);
}
