/* op/simd/kernels/labels.c -- connected components, mutual best and outward
 * edges.
 *
 * Union-find with path halving (Tarjan and van Leeuwen, 1984), where the
 * smaller root becomes the parent. Most edges connect nodes that have the same
 * parent already, so that is tested first, and an edge moves its ends up to the
 * root. Parents are never larger than their nodes: one pass in ascending order
 * turns them into labels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"
#include "base/select.h"
#include "op/simd/pick.h"

#include <string.h>

/* The root of i; halves the path on the way. */
static int32_t find_root(int32_t *parent, int32_t i)
{
    int32_t above = parent[i];

    while (above != i) {
        const int32_t next = parent[above];
        parent[i] = next;
        i = next;
        above = parent[i];
    }
    return i;
}

static void unite(int32_t *parent, int32_t a, int32_t b)
{
    const int32_t above_a = parent[a];
    const int32_t above_b = parent[b];

    if (above_a == above_b)
        return;
    const int32_t root_a = find_root(parent, above_a);
    const int32_t root_b = find_root(parent, above_b);
    const int32_t root = root_a < root_b ? root_a : root_b;

    parent[root_a] = parent[root_b] = root;
    parent[a] = parent[b] = root;
}

etx_status ETX_ISA_NAME(connected_components)(
    struct etx_stream *stream, const struct etx_connected_components_args *args)
{
    int32_t *const parent = args->label;
    int32_t picked[ETX_PICK_BLOCK];
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < args->n_nodes; i++)
        parent[i] = (int32_t)i;
    for (int64_t begin = 0; begin < args->n_edges; begin += ETX_PICK_BLOCK) {
        const int64_t n = etx_pick(picked, args->score, args->cut, begin,
            etx_pick_end(begin, args->n_edges));

        ETX_POLL_STREAM(stream, begin + ETX_PICK_BLOCK - 1);
        for (int64_t t = 0; t < n; t++)
            unite(parent, args->src[picked[t]], args->dst[picked[t]]);
    }
    for (int64_t i = 0; i < args->n_nodes; i++)
        parent[i] = parent[parent[i]];
done:
    return status;
}

/* --------------------------------------------------------- mutual_best -- */

/* Sorts by score, then the lower edge above; 0 is below all. */
static uint64_t rank_of(float score, int32_t edge)
{
    return etx_ordered_key(score, INT32_MAX - edge);
}

static int32_t edge_of(uint64_t rank)
{
    return INT32_MAX - (int32_t)(uint32_t)rank;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* out, in [n_nodes] = the best edge above the cut at every node. */
static etx_status find_best(uint64_t *out, uint64_t *in,
    const struct etx_mutual_best_args *args, const struct etx_stream *stream)
{
    int32_t picked[ETX_PICK_BLOCK];
    etx_status status = ETX_OK;

    for (int64_t begin = 0; begin < args->n_edges; begin += ETX_PICK_BLOCK) {
        const int64_t n = etx_pick(picked, args->score, args->cut, begin,
            etx_pick_end(begin, args->n_edges));

        ETX_POLL_STREAM(stream, begin + ETX_PICK_BLOCK - 1);
        for (int64_t t = 0; t < n; t++) {
            const int32_t e = picked[t];
            const uint64_t rank = rank_of(args->score[e], e);
            out[args->src[e]] = larger(out[args->src[e]], rank);
            in[args->dst[e]] = larger(in[args->dst[e]], rank);
        }
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(mutual_best)(
    struct etx_stream *stream, const struct etx_mutual_best_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n_words = (args->n_edges + 63) / 64;
    uint64_t *out = NULL, *in = NULL, *is_best = NULL;
    int64_t count = 0;
    etx_status status;

    ETX_SCRATCH(out, stream->arena, args->n_nodes, "best edges out of nodes");
    ETX_SCRATCH(in, stream->arena, args->n_nodes, "best edges into nodes");
    ETX_SCRATCH(is_best, stream->arena, n_words, "best edges");
    memset(out, 0, (size_t)args->n_nodes * sizeof *out);
    memset(in, 0, (size_t)args->n_nodes * sizeof *in);
    memset(is_best, 0, (size_t)n_words * sizeof *is_best);
    ETX_CHECK(find_best(out, in, args, stream));
    /* There are fewer nodes than edges; a bitmap sorts them. */
    for (int64_t i = 0; i < args->n_nodes; i++)
        if (out[i] != 0 && in[args->dst[edge_of(out[i])]] == out[i])
            is_best[edge_of(out[i]) / 64] |= UINT64_C(1)
                                             << edge_of(out[i]) % 64;
    for (int64_t w = 0; w < n_words; w++)
        for (uint64_t bits = is_best[w]; bits != 0; bits &= bits - 1)
            args->selected[count++] = (int32_t)(w * 64) + __builtin_ctzll(bits);
    *args->n_selected = count;
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

/* -------------------------------------------------------- outward_edges -- */

etx_status ETX_ISA_NAME(outward_edges)(
    struct etx_stream *stream, const struct etx_outward_edges_args *args)
{
    const float *key = args->key;
    int32_t picked[ETX_PICK_BLOCK];
    int64_t count = 0;
    etx_status status = ETX_OK;

    for (int64_t begin = 0; begin < args->n_edges; begin += ETX_PICK_BLOCK) {
        const int64_t n = etx_pick(picked, args->edge_score, args->cut, begin,
            etx_pick_end(begin, args->n_edges));

        ETX_POLL_STREAM(stream, begin + ETX_PICK_BLOCK - 1);
        for (int64_t t = 0; t < n; t++) {
            const int32_t a = args->src[picked[t]];
            const int32_t b = args->dst[picked[t]];
            const int is_outward =
                key[a] < key[b] || (a < b && key[a] == key[b]);

            args->tail[count] = is_outward ? a : b;
            args->head[count] = is_outward ? b : a;
            args->score[count] = args->edge_score[picked[t]];
            count += a != b;
        }
    }
    *args->n = count;
done:
    return status;
}
