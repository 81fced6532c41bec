/* test_mutual_best.c -- edges that are best at both their ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "track_graphs.h"

#include <stdlib.h>

struct row {
    struct edge_list list;
    float cut;
    int32_t expected[6]; /* min_hits 2 */
};

static const struct row rows[] = {
    /* A fork keeps its better branch. */
    {{4, 3, {{0, 1, 0.9f}, {1, 2, 0.8f}, {1, 3, 0.7f}}}, 0.5f, {0, 0, 0, -1}},
    /* A merge keeps its better branch. */
    {{4, 3, {{0, 2, 0.6f}, {1, 2, 0.7f}, {2, 3, 0.9f}}}, 0.5f, {-1, 0, 0, 0}},
    /* Crossing tracks: each edge between them is best at one end at most. */
    {{4, 3, {{0, 2, 0.9f}, {1, 3, 0.8f}, {0, 3, 0.75f}}}, 0.5f, {0, 1, 0, 1}},
    /* Best out of its source is not enough: 1-2 loses at 2, and 1-3, second
     * out of 1, is not used instead. */
    {{4, 3, {{0, 2, 0.9f}, {1, 2, 0.8f}, {1, 3, 0.7f}}}, 0.5f, {0, -1, 0, -1}},
    /* Ties: the lower edge id, that is the lower target, then source. */
    {{4, 3, {{0, 3, 0.8f}, {0, 2, 0.8f}, {1, 3, 0.8f}}}, 0.5f, {0, -1, 0, -1}},
    {{4, 3, {{2, 3, 0.8f}, {1, 3, 0.8f}, {0, 3, 0.8f}}}, 0.5f, {0, -1, -1, 0}},
    /* The cut is strict. */
    {{3, 2, {{0, 1, 0.5f}, {1, 2, 0.51f}}}, 0.5f, {-1, 0, 0}},
    /* A ring is one track; so is a pair joined in both directions. */
    {{5, 5,
         {{0, 1, 0.9f}, {1, 2, 0.9f}, {2, 0, 0.9f}, {3, 4, 0.7f},
             {4, 3, 0.7f}}},
        0.5f, {0, 0, 0, 1, 1}},
    /* A loop is an edge of a hit to itself and blocks the others. */
    {{3, 3, {{0, 1, 0.8f}, {1, 1, 0.9f}, {1, 2, 0.8f}}}, 0.5f, {-1, -1, -1}},
};

ETX_TEST(test_mutual_best_by_hand, .rows = ROWS(rows))
{
    const struct row *row = &rows[_i];
    int32_t labels[6];

    label_list(labels, &row->list, ETX_LABEL_MUTUAL_BEST, row->cut, 2);
    assert_labels(labels, row->expected, row->list.n_nodes);
}

/* Kept by the definition, edge against edge: no other out of the same source
 * or into the same target may be better. Edges are sorted, so their index is
 * their id. */
static int is_kept(const etx_graph *graph, int64_t e, float cut)
{
    const int32_t *src = etx_graph_src(graph);
    const int32_t *dst = etx_graph_dst(graph);
    const float *score = etx_graph_scores(graph);

    if (!(score[e] > cut))
        return 0;
    for (int64_t f = 0; f < etx_graph_n_edges(graph); f++)
        if ((src[f] == src[e] || dst[f] == dst[e]) &&
            (score[f] > score[e] || (score[f] == score[e] && f < e)))
            return 0;
    return 1;
}

/* Group of i in a forest of parents. */
static int32_t find_root(const int32_t *parent, int32_t i)
{
    while (parent[i] != i)
        i = parent[i];
    return i;
}

ETX_TEST(test_mutual_best_definition, .rows = 20)
{
    const int64_t n = 60;
    const int64_t n_edges = 200;
    const float cut = 0.1f;
    scoped struct scored_edge *edges =
        new_random_edges(n, n_edges, (uint32_t)_i);
    scoped_graph *graph = NULL;
    int32_t parent[60];
    int32_t labels[60];

    for (int64_t e = 0; e < n_edges && _i % 2; e++)
        edges[e].score = edges[e].score < 0.5f ? 0.25f : 0.75f;
    graph = new_graph(n, n_edges, edges);
    label_edges(labels, n, n_edges, edges, ETX_LABEL_MUTUAL_BEST, cut, 1);
    for (int32_t i = 0; i < n; i++)
        parent[i] = i;
    for (int64_t e = 0; e < n_edges; e++)
        if (is_kept(graph, e, cut))
            parent[find_root(parent, etx_graph_src(graph)[e])] =
                find_root(parent, etx_graph_dst(graph)[e]);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            ck_assert_msg((labels[i] == labels[j]) ==
                              (find_root(parent, i) == find_root(parent, j)),
                "hits %d and %d", i, j);
}
