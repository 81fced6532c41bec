/* checkop/test_checkop_norm.c -- perceptrons that are nothing but a norm.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

static const int32_t shapes[][2] = {{0, 5}, {1, 1}, {1, 8}, {2, 3}, {31, 5},
    {33, 8}, {257, 17}, {100, 32}, {31, 64}, {33, 67}, {65, 100}, {31, 128},
    {1000, 33}, {5, 300}};
#define N_SHAPES ROWS(shapes)

CHECKOP_TEST(test_norm_shapes, .rows = N_SHAPES)
{
    struct checkop_case one;

    for (int32_t norm = 0; norm < ETX_N_NORMS; norm++) {
        checkop_norm(&one, norm, shapes[_i][0], shapes[_i][1]);
        checkop_verify(&one);
        checkop_norm_backward(&one, norm, shapes[_i][0], shapes[_i][1]);
        checkop_verify(&one);
    }
}

/* Lines that are constant, all zero, far from zero, tiny and huge. */
CHECKOP_TEST(test_norm_special_rows)
{
    enum { N_ROWS = 6, WIDTH = 37 };
    const float centre[N_ROWS] = {7.0f, 0.0f, 1e4f, 0.0f, 0.0f, 1e6f};
    const float spread[N_ROWS] = {0.0f, 0.0f, 1.0f, 1e-20f, 1e15f, 1e3f};

    for (int32_t norm = 0; norm < ETX_N_NORMS; norm++) {
        struct checkop_case one;
        checkop_norm(&one, norm, N_ROWS, WIDTH);
        const struct etx_norm_args *args = one.args;
        float *x = checkop_floats(N_ROWS * WIDTH);
        for (int32_t t = 0; t < N_ROWS * WIDTH; t++)
            x[t] = centre[t / WIDTH] + spread[t / WIDTH] * x[t];
        ((struct etx_norm_args *)one.args)->x = x;
        checkop_verify(&one);
        for (int32_t t = 0; t < N_ROWS * WIDTH; t++)
            if (!isfinite(args->y[t]))
                ck_abort_msg("norm %d: y[%d] is not finite", norm, t);
    }
}

/* Layer norm of 1 2 3 4: (x - 2.5) / sqrt(1.25 + 1e-5); L2 of 3 4: 0.6 0.8. */
CHECKOP_TEST(test_norm_known)
{
    const float x[] = {1.0f, 2.0f, 3.0f, 4.0f};
    const float gain[] = {1.0f, 2.0f, 1.0f, -1.0f};
    const float shift[] = {0.0f, 0.5f, 0.0f, 1.0f};
    const float layer[] = {-1.3416354f, -0.39442361f, 0.44721180f, -0.3416354f};
    const float batch[] = {-0.999995f, -1.49999f, 0.999995f, 2.49999f};
    const float pair[] = {3.0f, 4.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        float y[4];
        struct etx_norm_args args = {.n_rows = 1,
            .width = 4,
            .norm = ETX_NORM_LAYER,
            .eps = 1e-5f,
            .x = x,
            .gain = gain,
            .shift = shift,
            .y = y};
        ck_assert_ok(checkop_run_norm(ops, &check.stream[0], &args));
        for (int32_t k = 0; k < 4; k++)
            ck_assert_float_eq_tol(y[k], layer[k], 1e-6f);
        args.norm = ETX_NORM_BATCH; /* columns 1 3 and 2 4: -+1 */
        args.n_rows = 2;
        args.width = 2;
        ck_assert_ok(checkop_run_norm(ops, &check.stream[0], &args));
        for (int32_t k = 0; k < 4; k++)
            ck_assert_float_eq_tol(y[k], batch[k], 1e-6f);
        args.norm = ETX_NORM_L2;
        args.n_rows = 1;
        args.x = pair;
        args.gain = NULL;
        args.shift = NULL;
        ck_assert_ok(checkop_run_norm(ops, &check.stream[0], &args));
        ck_assert_float_eq_tol(y[0], 0.6f, 1e-7f);
        ck_assert_float_eq_tol(y[1], 0.8f, 1e-7f);
    }
}

struct loss {
    struct etx_norm_args forward;
    const float *d_y;
};

static double objective(void *user)
{
    const struct loss *loss = user;

    if (checkop_run_norm(&etx_op_ref, &check.stream[0], &loss->forward) !=
        ETX_OK)
        return NAN;
    return checkop_dot(
        loss->forward.y, loss->d_y, loss->forward.n_rows * loss->forward.width);
}

/* Step 2^-6 of values of order 1: the fourth-order difference is good to
 * h^4, about 1e-7, and float32 outputs to 1e-7 / h, about 1e-5; 3e-4 of the
 * largest slope is wide enough and finds any wrong term. */
CHECKOP_TEST(test_norm_slopes, .rows = ETX_N_NORMS)
{
    enum { N_ROWS = 6, WIDTH = 7, N = N_ROWS * WIDTH };
    const int32_t norm = _i;
    const int32_t affine = norm == ETX_NORM_LAYER || norm == ETX_NORM_BATCH;
    float *x = checkop_floats(N);
    float *gain = checkop_floats(WIDTH);
    float *shift = checkop_floats(WIDTH);
    const struct etx_norm_backward_args args = {
        .forward = {.n_rows = N_ROWS,
            .width = WIDTH,
            .norm = norm,
            .eps = norm == ETX_NORM_L2 ? 1e-12f : 1e-3f,
            .x = x,
            .gain = affine ? gain : NULL,
            .shift = affine ? shift : NULL,
            .y = checkop_floats(N)},
        .d_y = checkop_floats(N),
        .d_x = checkop_floats(N),
        .d_gain = checkop_buffer(WIDTH, sizeof(float)),
        .d_shift = checkop_buffer(WIDTH, sizeof(float))};
    struct loss loss = {args.forward, args.d_y};
    const struct checkop_slope slopes[] = {
        {"d_x", objective, &loss, x, args.d_x, N, N, 0x1p-6f, 1e-4, 3e-4, 0.0},
        {"d_gain", objective, &loss, gain, args.d_gain, WIDTH, WIDTH, 0x1p-6f,
            1e-4, 3e-4, 0.0},
        {"d_shift", objective, &loss, shift, args.d_shift, WIDTH, WIDTH,
            0x1p-6f, 1e-4, 3e-4, 0.0}};

    ck_assert_ok(
        checkop_run_norm_backward(&etx_op_ref, &check.stream[0], &args));
    for (int32_t t = 0; t < (affine ? 3 : 1); t++)
        checkop_verify_slope(&slopes[t]);
}

/* Below eps the L2 norm is x / eps, whose slope is 1 / eps. */
CHECKOP_TEST(test_norm_l2_below_eps)
{
    const float x[] = {0.01f, -0.02f};
    const float d_y[] = {1.0f, 3.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float d_x[2];
        const struct etx_norm_backward_args args = {.forward = {.n_rows = 1,
                                                        .width = 2,
                                                        .norm = ETX_NORM_L2,
                                                        .eps = 0.5f,
                                                        .x = x},
            .d_y = d_y,
            .d_x = d_x};
        ck_assert_ok(checkop_run_norm_backward(
            &check.implementation[i].ops, &check.stream[0], &args));
        ck_assert_float_eq_tol(d_x[0], 2.0f, 1e-6f);
        ck_assert_float_eq_tol(d_x[1], 6.0f, 1e-6f);
    }
}
