/* op/ref/best_first.c -- chains of hits, best edge first.
 *
 * Each hit of a track has one hit before it and one after. Edges are processed
 * one at a time and link two chains end to end where both ends are open. A
 * round links the edges above a cut by their score, then the rest, the smallest
 * kink first, if one of the chains has support and the kink is small: where a
 * network is unsure, the shape of the two chains often decides. In the first
 * round the shape decides about edges of medium score, in the second their
 * score decides about those that remain.
 *
 * Edges run outward, so no chain can close on itself.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/select.h"
#include "base/sort.h"
#include "op/shared/kink.h"

#include <stdbool.h>
#include <string.h>

#define NONE (-1)

struct best_first {
    const struct etx_best_first_args *args;
    const struct etx_stream *stream;
    struct etx_chains chains;
    int32_t *far_end; /* [n_nodes] of a chain's end: the other end */
    int32_t *length;  /* [n_nodes] of a chain's end: its hits */
};

static etx_status start_chains(
    struct best_first *work, struct etx_arena *arena, int64_t n_nodes)
{
    struct etx_chains *chains = &work->chains;
    etx_status status;

    ETX_SCRATCH(chains->next, arena, n_nodes, "next hits");
    ETX_SCRATCH(chains->previous, arena, n_nodes, "previous hits");
    ETX_SCRATCH(work->far_end, arena, n_nodes, "chain ends");
    ETX_SCRATCH(work->length, arena, n_nodes, "chain lengths");
    for (int64_t i = 0; i < n_nodes; i++) {
        chains->next[i] = chains->previous[i] = NONE;
        work->far_end[i] = (int32_t)i;
        work->length[i] = 1;
    }
done:
    return status;
}

static bool is_open(const struct best_first *work, int32_t e)
{
    return work->chains.next[work->args->tail[e]] == NONE &&
           work->chains.previous[work->args->head[e]] == NONE;
}

static void link_edge(struct best_first *work, int32_t e)
{
    const int32_t tail = work->args->tail[e];
    const int32_t head = work->args->head[e];
    const int32_t first = work->far_end[tail];
    const int32_t last = work->far_end[head];
    const int32_t length = work->length[tail] + work->length[head];

    work->chains.next[tail] = head;
    work->chains.previous[head] = tail;
    work->far_end[first] = last;
    work->far_end[last] = first;
    work->length[first] = work->length[last] = length;
}

/* order [n_edges]: the edges from the highest score down, equal ones as they
 * are given. key [n_edges] is scratch. */
static etx_status sort_by_score(
    int32_t *order, int64_t *key, const struct etx_best_first_args *args)
{
    for (int64_t e = 0; e < *args->n_edges; e++)
        key[e] = etx_sort_key(-args->score[e]);
    return etx_sort_order(order, key, *args->n_edges);
}

/* Link by score, above cut. Weaker edges whose ends are open go to weak, in the
 * order of order [*n], which becomes their number. */
static etx_status link_by_score(int32_t *weak, int64_t *n,
    struct best_first *work, float cut, const int32_t *order)
{
    int64_t n_weak = 0;
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < *n; k++) {
        const int32_t e = order[k];

        ETX_POLL_STREAM(work->stream, k);
        if (!is_open(work, e))
            continue;
        if (work->args->score[e] > cut)
            link_edge(work, e);
        else
            weak[n_weak++] = e;
    }
    *n = n_weak;
done:
    return status;
}

/* Whether one of the chains that the edge links is long enough. */
static bool has_support(const struct best_first *work, int32_t e)
{
    const int32_t before = work->length[work->args->tail[e]];
    const int32_t after = work->length[work->args->head[e]];

    return (before > after ? before : after) >= work->args->support_hits;
}

static float kink(const struct best_first *work, int32_t e)
{
    return etx_link_kink(&work->chains, work->args->tail[e],
        work->args->head[e], work->args->max_curvature_change,
        work->args->max_polar_change);
}

/* sorted [n]: the weak edges [n] by the kink of their links; edges without
 * support come last. key, rank [n] are scratch. */
static etx_status sort_by_kink(int32_t *sorted, int64_t *key, int32_t *rank,
    const struct best_first *work, const int32_t *weak, int64_t n)
{
    const float beyond = 2.0f * ETX_MAX_KINK;
    etx_status status;

    for (int64_t k = 0; k < n; k++) {
        const float x =
            has_support(work, weak[k]) ? kink(work, weak[k]) : beyond;

        ETX_POLL_STREAM(work->stream, k);
        key[k] = etx_sort_key(x < beyond ? x : beyond);
    }
    ETX_CHECK(etx_sort_order(rank, key, n));
    for (int64_t k = 0; k < n; k++)
        sorted[k] = weak[rank[k]];
done:
    return status;
}

/* The chains have grown since the kinks were sorted: compute them again. */
static etx_status link_by_kink(
    struct best_first *work, const int32_t *edge, int64_t n)
{
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < n; k++) {
        ETX_POLL_STREAM(work->stream, k);
        if (is_open(work, edge[k]) && has_support(work, edge[k]) &&
            kink(work, edge[k]) <= ETX_MAX_KINK)
            link_edge(work, edge[k]);
    }
done:
    return status;
}

static etx_status link_edges(struct best_first *work, struct etx_stream *stream)
{
    struct etx_arena *arena = stream->arena;
    const struct etx_best_first_args *args = work->args;
    const float cuts[] = {
        args->sure_cut > args->strong_cut ? args->sure_cut : args->strong_cut,
        args->strong_cut};
    const int n_rounds = cuts[0] > cuts[1] ? 2 : 1;
    const int64_t n = *args->n_edges;
    int64_t *key = NULL;
    int32_t *order = NULL, *weak = NULL, *rank = NULL, *sorted = NULL;
    int64_t n_open = n;
    etx_status status;

    ETX_SCRATCH(key, arena, n, "edge keys");
    ETX_SCRATCH(order, arena, n, "edges by score");
    ETX_SCRATCH(weak, arena, n, "weak edges");
    ETX_SCRATCH(rank, arena, n, "weak edges");
    ETX_SCRATCH(sorted, arena, n, "weak edges");
    ETX_CHECK(sort_by_score(order, key, args));
    for (int k = 0; k < n_rounds; k++) {
        ETX_CHECK(etx_check_cancelled(stream));
        ETX_CHECK(link_by_score(weak, &n_open, work, cuts[k], order));
        ETX_CHECK(sort_by_kink(sorted, key, rank, work, weak, n_open));
        ETX_CHECK(link_by_kink(work, sorted, n_open));
        memcpy(order, weak, (size_t)n_open * sizeof *order);
    }
done:
    return status;
}

/* The first hit of its chain is the group of a hit. */
static void group_chains(
    int32_t *group, const struct etx_chains *chains, int64_t n_nodes)
{
    for (int64_t i = 0; i < n_nodes; i++)
        if (chains->previous[i] == NONE)
            for (int32_t hit = (int32_t)i; hit != NONE; hit = chains->next[hit])
                group[hit] = (int32_t)i;
}

etx_status etx_ref_best_first(
    struct etx_stream *stream, const struct etx_best_first_args *args)
{
    struct etx_arena *arena = stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct best_first work = {
        .args = args, .stream = stream, .chains = {.position = args->position}};
    etx_status status;

    ETX_CHECK(start_chains(&work, arena, args->n_nodes));
    ETX_CHECK(link_edges(&work, stream));
    group_chains(args->group, &work.chains, args->n_nodes);
done:
    etx_arena_reset(arena, mark);
    return status;
}
