/* checkop/test_checkop_walkthrough.c -- paths of edges, best first.
 *
 * What walkthrough means is tested by the suite walkthrough; here every
 * implementation is beside the reference, also where the search is bounded,
 * takes many rounds, or goes deep.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <check.h>

#define LOOKS 64
#define MANY  ((int64_t)1 << 30)

static struct checkop check;

static void start(void)
{
    checkop_start(&check, 119);
}

static void stop(void)
{
    checkop_stop(&check);
}

/* Nothing, nodes alone, one edge, chains that need no search; many pieces or
 * one. */
static const int32_t shapes[][2] = {{0, 0}, {1, 0}, {5, 0}, {2, 1}, {2, 3},
    {31, 5}, {33, 40}, {257, 100}, {257, 2000}, {1000, 900}, {1000, 5000},
    {3000, 1500}, {3000, 30000}};
#define N_SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

static const struct etx_walkthrough_args *verify(
    const struct checkop_outward *edges, int64_t looks)
{
    struct checkop_case one;

    checkop_walkthrough(&one, &check, edges, looks);
    checkop_verify(&check, &one);
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

START_TEST(test_walkthrough_shapes)
{
    const struct checkop_outward edges =
        checkop_make_outward(&check, shapes[_i][0], shapes[_i][1]);

    ck_assert_int_ge(count_joined(verify(&edges, LOOKS)), shapes[_i][1] > 0);
}
END_TEST

/* Few looks: some components end in passes, or all do. */
START_TEST(test_walkthrough_passes)
{
    static const int32_t cases[][2] = {
        {1300, 0}, {1300, 3}, {6000, 0}, {6000, 1}, {6000, 10}};
    const struct checkop_outward edges =
        checkop_make_outward(&check, 1000, cases[_i][0]);

    ck_assert_int_gt(count_joined(verify(&edges, cases[_i][1])), 400);
}
END_TEST

/* All scores equal, or zero: rows and numbers of nodes decide. */
START_TEST(test_walkthrough_ties)
{
    struct checkop_outward edges = checkop_make_outward(&check, 1000, 3000);

    for (int64_t e = 0; e < edges.n_edges; e++)
        edges.score[e] = _i == 0 ? 0.5f : 0.0f;
    ck_assert_int_gt(count_joined(verify(&edges, LOOKS)), 400);
}
END_TEST

/* Edges by hand between nodes in a row. */
static struct checkop_outward make_edges(int64_t n_nodes, int64_t n_edges)
{
    struct checkop_outward edges = {.n_nodes = n_nodes,
        .n_edges = n_edges,
        .tail = checkop_buffer(&check, n_edges, sizeof(int32_t)),
        .head = checkop_buffer(&check, n_edges, sizeof(int32_t)),
        .score = checkop_buffer(&check, n_edges, sizeof(float)),
        .key = checkop_buffer(&check, n_nodes, sizeof(float))};

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
START_TEST(test_walkthrough_comb)
{
    const int64_t n = 300;
    struct checkop_outward edges = make_edges(2 * n, 2 * n - 1);

    for (int64_t i = 0; i < n; i++)
        set_edge(&edges, i, i, n + i, 0.1f);
    for (int64_t i = 0; i + 1 < n; i++)
        set_edge(&edges, n + i, i, i + 1, 0.9f);
    const struct etx_walkthrough_args *args = verify(&edges, LOOKS);

    ck_assert_int_eq(count_joined(args), n);
    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(args->group[i], 0);
}
END_TEST

/* All starts like one hub best, which goes to the next when an end is taken:
 * a path a round, more rounds than a device makes at once. */
START_TEST(test_walkthrough_many_rounds)
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
END_TEST

/* Complete from one side to the other, without looks: a path a pass. */
START_TEST(test_walkthrough_many_passes)
{
    const int64_t n = 40;
    struct checkop_outward edges = make_edges(2 * n, n * n);

    for (int64_t e = 0; e < n * n; e++)
        set_edge(&edges, e, e / n, n + e % n, 1.0f - (float)(e % n) / 64.0f);
    const struct etx_walkthrough_args *args = verify(&edges, 0);

    for (int64_t i = 0; i < n; i++)
        ck_assert_int_eq(args->group[n + i], i);
}
END_TEST

Suite *etx_suite_checkop_walkthrough(void);
Suite *etx_suite_checkop_walkthrough(void)
{
    Suite *suite = suite_create("checkop_walkthrough");
    TCase *tests = tcase_create("walkthrough");

    tcase_add_checked_fixture(tests, start, stop);
    tcase_add_loop_test(tests, test_walkthrough_shapes, 0, N_SHAPES);
    tcase_add_loop_test(tests, test_walkthrough_passes, 0, 5);
    tcase_add_loop_test(tests, test_walkthrough_ties, 0, 2);
    tcase_add_test(tests, test_walkthrough_comb);
    tcase_add_test(tests, test_walkthrough_many_rounds);
    tcase_add_test(tests, test_walkthrough_many_passes);
    suite_add_tcase(suite, tests);
    return suite;
}
