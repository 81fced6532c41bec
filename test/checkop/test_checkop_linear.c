/* checkop/test_checkop_linear.c -- perceptrons of one linear layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

/* Rows, inputs and outputs that are odd, prime, powers of two and empty. */
static const int32_t shapes[][3] = {{0, 5, 3}, {1, 1, 1}, {2, 3, 5},
    {31, 8, 17}, {33, 17, 8}, {257, 5, 1}, {100, 32, 32}, {65, 64, 67},
    {64, 67, 64}, {33, 100, 128}, {31, 128, 100}, {1000, 12, 33}, {7, 300, 9}};
#define N_SHAPES ROWS(shapes)

CHECKOP_VERIFY(test_linear_shapes, N_SHAPES,
    checkop_linear(&one, shapes[_i][0], shapes[_i][1], shapes[_i][2]))

CHECKOP_VERIFY(test_linear_backward_shapes, N_SHAPES,
    checkop_linear_backward(&one, shapes[_i][0], shapes[_i][1], shapes[_i][2]))

CHECKOP_TEST(test_linear_backward_null_outputs)
{
    struct checkop_case one;

    checkop_linear_backward(&one, 33, 17, 9);
    struct etx_linear_backward_args *args = one.args;
    one.set_bounds = NULL; /* nothing is written: all as before */
    args->d_x = NULL;
    args->d_weight = NULL;
    args->d_bias = NULL;
    checkop_verify(&one);
    for (int32_t o = 0; o < one.n_outputs; o++)
        ck_assert_mem_eq(one.output[o].data, one.output[o].initial,
            (size_t)one.output[o].n * sizeof(float));
}

CHECKOP_TEST(test_linear_extremes)
{
    struct checkop_case one;

    check.values = CHECKOP_PRODUCTS;
    checkop_linear(&one, 33, 19, 23);
    checkop_verify(&one);
    checkop_linear_backward(&one, 33, 19, 23);
    checkop_verify(&one);
}

/* y = x W^T + b by hand: W = [[1 2] [3 4] [5 6]], b = [0.5 -1 0]. */
CHECKOP_TEST(test_linear_known)
{
    const float x[] = {1.0f, -1.0f, 2.0f, 0.5f};
    const float weight[] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    const float bias[] = {0.5f, -1.0f, 0.0f};
    const float want[] = {-0.5f, -2.0f, -1.0f, 3.5f, 7.0f, 13.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float y[6] = {0.0f};
        const struct etx_linear_args args = {.n_rows = 2,
            .n_in = 2,
            .n_out = 3,
            .x = x,
            .weight = weight,
            .bias = bias,
            .y = y};
        ck_assert_ok(checkop_run_linear(
            &check.implementation[i].ops, &check.stream[0], &args));
        for (int32_t t = 0; t < 6; t++)
            ck_assert_float_eq(y[t], want[t]);
    }
}

/* The output is linear in every input, so differences are exact but for the
 * float32 rounding of y: 1e-5 of the largest slope. */
struct loss {
    struct etx_linear_args forward;
    const float *d_y;
};

static double objective(void *user)
{
    const struct loss *loss = user;

    if (checkop_run_linear(&etx_op_ref, &check.stream[0], &loss->forward) !=
        ETX_OK)
        return NAN;
    return checkop_dot(
        loss->forward.y, loss->d_y, loss->forward.n_rows * loss->forward.n_out);
}

CHECKOP_TEST(test_linear_slopes)
{
    enum { N_ROWS = 7, N_IN = 5, N_OUT = 4 };
    float *x = checkop_floats(N_ROWS * N_IN);
    float *weight = checkop_floats(N_OUT * N_IN);
    float *bias = checkop_floats(N_OUT);
    const struct etx_linear_backward_args args = {.n_rows = N_ROWS,
        .n_in = N_IN,
        .n_out = N_OUT,
        .x = x,
        .weight = weight,
        .d_y = checkop_floats(N_ROWS * N_OUT),
        .d_x = checkop_floats(N_ROWS * N_IN),
        .d_weight = checkop_buffer(N_OUT * N_IN, sizeof(float)),
        .d_bias = checkop_buffer(N_OUT, sizeof(float))};
    struct loss loss = {.forward = {.n_rows = N_ROWS,
                            .n_in = N_IN,
                            .n_out = N_OUT,
                            .x = x,
                            .weight = weight,
                            .bias = bias,
                            .y = checkop_floats(N_ROWS * N_OUT)},
        .d_y = args.d_y};
    struct checkop_slope slopes[] = {
        {"d_x", objective, &loss, x, args.d_x, N_ROWS * N_IN, 99, 0.125f, 1e-5,
            1e-5, 0.0},
        {"d_weight", objective, &loss, weight, args.d_weight, N_OUT * N_IN, 99,
            0.125f, 1e-5, 1e-5, 0.0},
        {"d_bias", objective, &loss, bias, args.d_bias, N_OUT, 99, 0.125f, 1e-5,
            1e-5, 0.0}};

    ck_assert_ok(
        checkop_run_linear_backward(&etx_op_ref, &check.stream[0], &args));
    for (int32_t t = 0; t < 3; t++)
        checkop_verify_slope(&slopes[t]);
}
