/* checkop/test_checkop_rows.c -- gather, scatter, add and row_dot.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static const int32_t shapes[][2] = {{0, 5}, {1, 1}, {2, 3}, {31, 5}, {33, 8},
    {257, 17}, {100, 32}, {31, 64}, {33, 67}, {65, 100}, {31, 128}, {1000, 33},
    {20000, 3}};
#define N_SHAPES ROWS(shapes)

CHECKOP_TEST(test_rows_gather, .rows = N_SHAPES)
{
    struct checkop_case one;

    check.values = CHECKOP_EXTREME;
    for (int32_t add = 0; add < 2; add++) {
        checkop_gather(&one, shapes[_i][0], shapes[_i][1], add);
        checkop_verify(&one);
    }
    const struct etx_gather_args *args = one.args;
    const float *initial = one.output[0].initial;
    int64_t n_wrong = 0;

    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t k = 0; k < args->width; k++) {
            const int64_t at = i * args->width + k;
            const int64_t from = (int64_t)args->index[i] * args->width + k;
            n_wrong += args->y[at] != initial[at] + args->x[from];
        }
    ck_assert_int_eq(n_wrong, 0);
}

CHECKOP_TEST(test_rows_scatter, .rows = N_SHAPES)
{
    struct checkop_case one;

    check.values = CHECKOP_EXTREME;
    for (int32_t add = 0; add < 2; add++) {
        checkop_scatter(&one, shapes[_i][0], shapes[_i][1], add);
        checkop_verify(&one);
    }
    const struct etx_scatter_args *args = one.args;
    const float *initial = one.output[0].initial;
    int64_t n_wrong = 0;

    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t k = 0; k < args->width; k++) {
            const int64_t at = i * args->width + k;
            const int64_t to = (int64_t)args->index[i] * args->width + k;
            n_wrong += args->y[to] != initial[to] + args->x[at];
        }
    ck_assert_int_eq(n_wrong, 0);
}

CHECKOP_TEST(test_rows_add, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_add(&one, (int64_t)shapes[_i][0] * shapes[_i][1]);
    checkop_verify(&one);
    check.values = CHECKOP_PRODUCTS;
    checkop_add(&one, (int64_t)shapes[_i][0] * shapes[_i][1]);
    checkop_verify(&one);
}

CHECKOP_TEST(test_rows_dot, .rows = N_SHAPES, .n_small = N_SHAPES - 1)
{
    struct checkop_case one;

    for (int32_t indexed = 0; indexed < 4; indexed++) {
        check.values = indexed % 2 ? CHECKOP_NORMAL : CHECKOP_PRODUCTS;
        checkop_row_dot(&one, shapes[_i][0], shapes[_i][1], indexed);
        checkop_verify(&one);
    }
}

CHECKOP_TEST(test_rows_dot_known)
{
    const float a[] = {1.0f, 2.0f, 3.0f, 4.0f};
    const float b[] = {5.0f, 6.0f, -7.0f, 8.0f};
    const int32_t index[] = {1, 0};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float out[2];
        const struct etx_row_dot_args args = {.n_rows = 2,
            .width = 2,
            .a = a,
            .a_index = index,
            .b = b,
            .out = out};
        ck_assert_ok(
            check.implementation[i].ops.row_dot(&check.stream[0], &args));
        ck_assert_float_eq(out[0], 39.0f);
        ck_assert_float_eq(out[1], 9.0f);
    }
}
