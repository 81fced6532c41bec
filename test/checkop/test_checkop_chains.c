/* checkop/test_checkop_chains.c -- edges joined to chains, and edges in both
 * directions.
 *
 * What best_first means is tested by the suite best_first; here every
 * implementation exists besides the reference.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static const int32_t shapes[][2] = {{1, 0}, {2, 1}, {31, 5}, {33, 40},
    {257, 100}, {257, 2000}, {1000, 900}, {1000, 5000}, {3000, 30000}};
#define N_SHAPES ROWS(shapes)

CHECKOP_VERIFY(test_chains_outward_edges, N_SHAPES,
    checkop_outward_edges(&one, shapes[_i][0], shapes[_i][1]))

CHECKOP_VERIFY(test_chains_best_first, N_SHAPES,
    checkop_best_first(&one, shapes[_i][0], shapes[_i][1]))

/* How many nodes follow another one in their chain. */
static int64_t count_joined(const struct etx_best_first_args *args)
{
    int64_t n = 0;

    for (int64_t i = 0; i < args->n_nodes; i++)
        n += args->group[i] != i;
    return n;
}

/* Shape decides in some of these cases, and its limits and the support that it
 * requires matter; one cut alone is one level. */
CHECKOP_TEST(test_chains_best_first_options)
{
    struct checkop_case one;
    int64_t n_joined[4];

    for (int32_t k = 0; k < 4; k++) {
        checkop_best_first(&one, 300, 2000);
        struct etx_best_first_args *args = one.args;

        args->max_polar_change = k == 1 ? 1e-6f : args->max_polar_change;
        args->support_hits = k == 2 ? 1000 : args->support_hits;
        args->sure_cut = k == 3 ? 0.0f : args->sure_cut;
        checkop_verify(&one);
        n_joined[k] = count_joined(args);
    }
    ck_assert_int_gt(n_joined[0], n_joined[1]);
    ck_assert_int_gt(n_joined[0], n_joined[2]);
    ck_assert_int_gt(n_joined[3], 0);
}

/* All scores equal, above the cuts or below both: the order of the edges
 * decides, or that of their kinks. */
CHECKOP_TEST(test_chains_best_first_ties, .rows = 2)
{
    struct checkop_case one;

    checkop_best_first(&one, 3000, 30000);
    struct etx_best_first_args *args = one.args;
    args->support_hits = 1;
    for (int64_t e = 0; e < *args->n_edges; e++)
        ((float *)(uintptr_t)args->score)[e] = _i == 0 ? 1.0f : 0.5f;
    checkop_verify(&one);
    ck_assert_int_gt(count_joined(args), 500);
}

CHECKOP_VERIFY(test_chains_double_edges, N_SHAPES,
    checkop_double_edges(&one, shapes[_i][0], shapes[_i][1]))

CHECKOP_TEST(test_chains_degrees, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_degrees(&one, shapes[_i][0], shapes[_i][1]);
    checkop_verify(&one);
    checkop_degree_weights(&one, shapes[_i][0], shapes[_i][1]);
    checkop_verify(&one);
}
