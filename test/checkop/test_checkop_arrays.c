/* checkop/test_checkop_arrays.c -- small operators on whole arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

#include "support.h"

/* Rows and columns, or nodes and edges. */
static const int32_t shapes[][2] = {
    {0, 0}, {1, 0}, {1, 1}, {2, 31}, {33, 64}, {257, 5}, {300, 211}};
#define N_SHAPES ROWS(shapes)

CHECKOP_TEST(test_arrays_flat, .rows = N_SHAPES)
{
    const int64_t n = (int64_t)shapes[_i][0] * shapes[_i][1];
    struct checkop_case one;

    checkop_fill(&one, n);
    checkop_verify(&one);
    checkop_gather_edges(&one, n);
    checkop_verify(&one);
    checkop_write_edge_index(&one, n);
    checkop_verify(&one);
    for (int32_t n_wrong = 0; n_wrong < 6; n_wrong++) {
        checkop_read_edge_index(&one, n, n_wrong);
        checkop_verify(&one);
    }
    check.values = CHECKOP_EXTREME;
    checkop_outward_key(&one, n);
    checkop_verify(&one);
    for (int32_t n_wrong = 0; n_wrong < 4; n_wrong++) {
        checkop_find_not_finite(&one, n, n_wrong);
        checkop_verify(&one);
    }
}

CHECKOP_TEST(test_arrays_scale, .rows = N_SHAPES)
{
    const int64_t n = (int64_t)shapes[_i][0] * shapes[_i][1];
    struct checkop_case one;

    checkop_scale(&one, n);
    checkop_verify(&one);
    checkop_sum_squares(&one, n);
    checkop_verify(&one);
    check.values = CHECKOP_EXTREME;
    checkop_sum_squares(&one, n);
    checkop_verify(&one);
}

/* 3, -4 and 12 are the sides of a box with a diagonal of 13; an infinity
 * shows. */
CHECKOP_TEST(test_arrays_squares_known)
{
    float x[] = {3.0f, -4.0f, 12.0f};
    double sum = -1.0;
    const struct etx_sum_squares_args args = {.n = 3, .x = x, .sum = &sum};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;

        x[1] = -4.0f;
        ck_assert_ok(ops->sum_squares(&check.stream[0], &args));
        ck_assert_double_eq(sum, 169.0);
        x[1] = -INFINITY;
        ck_assert_ok(ops->sum_squares(&check.stream[0], &args));
        ck_assert(isinf(sum));
    }
}

CHECKOP_TEST(test_arrays_halves, .rows = N_SHAPES)
{
    const int64_t n = (int64_t)shapes[_i][0] * shapes[_i][1];
    struct checkop_case one;

    for (int32_t format = 1; format < ETX_N_HALVES; format++) {
        check.values = CHECKOP_NORMAL;
        checkop_narrow(&one, n, format);
        checkop_verify(&one);
        checkop_widen(&one, n, format);
        checkop_verify(&one);
        check.values = CHECKOP_EXTREME;
        checkop_narrow(&one, n, format);
        checkop_verify(&one);
    }
}

CHECKOP_TEST(test_arrays_columns, .rows = N_SHAPES)
{
    struct checkop_case one;

    for (int how = 0; how < CHECKOP_N_COLUMNS; how++) {
        checkop_columns(
            &one, shapes[_i][0], shapes[_i][1], (enum checkop_columns)how);
        checkop_verify(&one);
    }
}

CHECKOP_TEST(test_arrays_index, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_graph_index(&one, shapes[_i][0], shapes[_i][1]);
    checkop_verify(&one);
    const struct etx_graph_index_args *args = one.args;

    ck_assert_int_eq(args->in_offset[args->n_nodes], args->n_edges);
    ck_assert_int_eq(args->out_offset[args->n_nodes], args->n_edges);
    for (int64_t i = 0; i < args->n_nodes; i++) {
        for (int64_t e = args->in_offset[i]; e < args->in_offset[i + 1]; e++)
            ck_assert_int_eq(args->dst[e], i);
        for (int64_t t = args->out_offset[i]; t < args->out_offset[i + 1]; t++)
            ck_assert_int_eq(args->src[args->out_edge[t]], i);
    }
}
