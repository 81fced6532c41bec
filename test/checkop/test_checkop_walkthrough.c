/* checkop/test_checkop_walkthrough.c -- paths of edges, best first.
 *
 * What walkthrough means is tested by the suite walkthrough; here every
 * implementation exists besides the reference, also where the search is
 * bounded, takes many rounds, or goes deep.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#define WORK_BUDGET 64
#define MANY        ((int64_t)1 << 30)

/* Nothing, nodes alone, one edge, chains that need no search; many pieces or
 * one. */
static const int32_t shapes[][2] = {{0, 0}, {1, 0}, {5, 0}, {2, 1}, {2, 3},
    {31, 5}, {33, 40}, {257, 100}, {257, 2000}, {1000, 900}, {1000, 5000},
    {3000, 1500}, {3000, 30000}};
#define N_SHAPES ROWS(shapes)

static const struct etx_walkthrough_args *verify(
    const struct checkop_outward *edges, int64_t work_budget)
{
    struct checkop_case one;

    checkop_walkthrough(&one, edges, work_budget);
    checkop_verify(&one);
    return one.args;
}

/* How many nodes follow another one on their path. */
static int64_t count_joined(const struct etx_walkthrough_args *args)
{
    int64_t n = 0;

    for (int64_t i = 0; i < args->n_nodes; i++)
        n += args->group[i] != i;
    return n;
}

CHECKOP_TEST(test_walkthrough_shapes, .rows = N_SHAPES)
{
    const struct checkop_outward edges =
        checkop_make_outward(shapes[_i][0], shapes[_i][1]);

    ck_assert_int_ge(
        count_joined(verify(&edges, WORK_BUDGET)), shapes[_i][1] > 0);
}

/* A small work budget: some components end in passes, or all do. */
CHECKOP_TEST(test_walkthrough_passes, .rows = 5)
{
    static const int32_t cases[][2] = {
        {1300, 0}, {1300, 3}, {6000, 0}, {6000, 1}, {6000, 10}};
    const struct checkop_outward edges =
        checkop_make_outward(1000, cases[_i][0]);

    ck_assert_int_gt(count_joined(verify(&edges, cases[_i][1])), 400);
}

/* All scores equal, or zero: rows and numbers of nodes decide. */
CHECKOP_TEST(test_walkthrough_ties, .rows = 2)
{
    struct checkop_outward edges = checkop_make_outward(1000, 3000);

    for (int64_t e = 0; e < edges.n_edges; e++)
        edges.score[e] = _i == 0 ? 0.5f : 0.0f;
    ck_assert_int_gt(count_joined(verify(&edges, WORK_BUDGET)), 400);
}

/* Edges by hand between nodes in a row. */
static struct checkop_outward make_edges(int64_t n_nodes, int64_t n_edges)
{
    struct checkop_outward edges = {.n_nodes = n_nodes,
        .n_edges = n_edges,
        .tail = checkop_buffer(n_edges, sizeof(int32_t)),
        .head = checkop_buffer(n_edges, sizeof(int32_t)),
        .score = checkop_buffer(n_edges, sizeof(float)),
        .key = checkop_buffer(n_nodes, sizeof(float))};

    for (int64_t i = 0; i < n_nodes; i++)
        edges.key[i] = (float)i;
    return edges;
}

static void set_edge(struct checkop_outward *edges, int64_t e, int64_t tail,
    int64_t head, float score)
{
    edges->tail[e] = (int32_t)tail;
    edges->head[e] = (int32_t)head;
    edges->score[e] = score;
}

/* A path as long as the graph, with a tooth at every node: one level a node. */
CHECKOP_TEST(test_walkthrough_comb)
{
    const int64_t n = 300;
    struct checkop_outward edges = make_edges(2 * n, 2 * n - 1);

    for (int64_t i = 0; i < n; i++)
        set_edge(&edges, i, i, n + i, 0.1f);
    for (int64_t i = 0; i + 1 < n; i++)
        set_edge(&edges, n + i, i, i + 1, 0.9f);
    const struct etx_walkthrough_args *args = verify(&edges, WORK_BUDGET);

    ck_assert_int_eq(count_joined(args), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(args->group[i], 0);
}

/* All starts like one hub best, which goes to the next when an end is taken:
 * a path a round. */
CHECKOP_TEST(test_walkthrough_many_rounds)
{
    const int64_t n = 60;
    struct checkop_outward edges = make_edges(3 * n + 1, 4 * n);

    for (int64_t i = 0; i < n; i++) {
        const float score = 0.45f - 0.4f * (float)i / (float)n;

        set_edge(&edges, 4 * i, n, 2 * n + 1 + i, score);
        set_edge(&edges, 4 * i + 1, i, n, 0.25f);
        set_edge(&edges, 4 * i + 2, i, n + 1 + i, 0.1f);
        set_edge(&edges, 4 * i + 3, n + 1 + i, 2 * n + 1 + i,
            score + 0.15f + 0.002f);
    }
    const struct etx_walkthrough_args *args = verify(&edges, MANY);

    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(args->group[2 * n + 1 + i], i);
}

/* Complete from one side to the other, without a work budget: one path per
 * pass. */
CHECKOP_TEST(test_walkthrough_many_passes)
{
    const int64_t n = 40;
    struct checkop_outward edges = make_edges(2 * n, n * n);

    for (int64_t e = 0; e < n * n; e++)
        set_edge(&edges, e, e / n, n + e % n, 1.0f - (float)(e % n) / 64.0f);
    const struct etx_walkthrough_args *args = verify(&edges, 0);

    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(args->group[n + i], i);
}
