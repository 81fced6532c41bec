/* checkop/test_checkop_activation.c -- activation and its backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

static const int32_t sizes[] = {0, 1, 2, 7, 31, 33, 257, 1000, 100003};
#define N_SIZES ROWS(sizes)

CHECKOP_TEST(test_activation_sizes, .rows = N_SIZES)
{
    struct checkop_case one;

    for (int32_t f = 0; f < ETX_N_ACTIVATIONS; f++) {
        check.values = _i % 2 ? CHECKOP_NORMAL : CHECKOP_EXTREME;
        checkop_activation(&one, f, sizes[_i], _i % 3 == 0);
        checkop_verify(&one);
        checkop_activation_backward(&one, f, sizes[_i], _i % 3 == 0);
        checkop_verify(&one);
    }
}

/* All floats between -120 and 120 in steps, and their neighbours. */
CHECKOP_TEST(test_activation_sweep, .rows = ETX_N_ACTIVATIONS)
{
    enum { N = 48001 };
    struct checkop_case one;

    checkop_activation(&one, _i, N, 0);
    struct etx_activation_args *args = one.args;
    float *x = checkop_buffer(N, sizeof *x);
    for (int32_t i = 0; i < N; i++)
        x[i] =
            nextafterf((float)(i - N / 2) * 0.005f, i % 2 ? -1000.0f : 1000.0f);
    args->x = x;
    checkop_verify(&one);
    checkop_activation_backward(&one, _i, N, 0);
    ((struct etx_activation_backward_args *)one.args)->x = x;
    checkop_verify(&one);
}

/* f(-2), f(0.5), f(3) in float64, computed outside this project. */
CHECKOP_TEST(test_activation_known, .rows = ETX_N_ACTIVATIONS)
{
    static const double want[ETX_N_ACTIVATIONS][3] = {
        [ETX_ACTIVATION_NONE] = {-2.0, 0.5, 3.0},
        [ETX_ACTIVATION_RELU] = {0.0, 0.5, 3.0},
        [ETX_ACTIVATION_SILU] = {-0.238405844044, 0.311229665601,
            2.85772238047},
        [ETX_ACTIVATION_TANH] = {-0.964027580076, 0.46211715726,
            0.995054753687},
        [ETX_ACTIVATION_GELU] = {-0.0455002638964, 0.345731230637,
            2.99595030591},
        [ETX_ACTIVATION_ELU] = {-0.864664716763, 0.5, 3.0},
        [ETX_ACTIVATION_SIGMOID] = {
            0.119202922022, 0.622459331202, 0.952574126822}};
    const float x[3] = {-2.0f, 0.5f, 3.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float y[3];
        const struct etx_activation_args args = {
            .n = 3, .activation = _i, .x = x, .y = y};
        ck_assert_ok(
            check.implementation[i].ops.activation(&check.stream[0], &args));
        for (int32_t t = 0; t < 3; t++)
            ck_assert_double_eq_tol((double)y[t], want[_i][t],
                4.0 * CHECKOP_EPS * fabs(want[_i][t]) + 0x1p-24);
    }
}

/* A host may trap these; finite inputs must not raise them. */
CHECKOP_TEST(test_activation_exceptions, .rows = ETX_N_ACTIVATIONS)
{
    static const float x[] = {0.0f, -0.0f, 1e-45f, -1e-40f, 1e-30f, -1e-6f,
        0.5f, -1.0f, 17.0f, -87.0f, 88.0f, -88.8f, 89.0f, -104.0f, 150.0f,
        -745.0f, 800.0f, -1e4f, 1e10f, -1e10f, 1e30f, -1e30f, FLT_MAX, -FLT_MAX,
        1.0f, 2.0f, -3.0f};
    enum { N = sizeof x / sizeof x[0] };

    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        float y[N], d_x[N];
        const struct etx_activation_args forward = {
            .n = N, .activation = _i, .x = x, .y = y};
        const struct etx_activation_backward_args backward = {
            .n = N, .activation = _i, .x = x, .d_y = y, .d_x = d_x};
        feclearexcept(FE_ALL_EXCEPT);
        ck_assert_ok(ops->activation(&check.stream[0], &forward));
        ck_assert_int_eq(
            fetestexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO), 0);
        for (int32_t t = 0; t < N; t++) {
            if (!isfinite(y[t]))
                ck_abort_msg("f(%g) is not finite", (double)x[t]);
            y[t] = 1.0f;
        }
        feclearexcept(FE_ALL_EXCEPT);
        ck_assert_ok(ops->activation_backward(&check.stream[0], &backward));
        ck_assert_int_eq(
            fetestexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO), 0);
        for (int32_t t = 0; t < N; t++)
            if (!isfinite(d_x[t]))
                ck_abort_msg("the slope at %g is not finite", (double)x[t]);
    }
}

static double objective(void *user)
{
    const struct etx_activation_args *args = user;
    double sum = 0.0;

    if (etx_op_ref.activation(&check.stream[0], args) != ETX_OK)
        return NAN;
    for (int64_t i = 0; i < args->n; i++)
        sum += (double)args->y[i];
    return sum;
}

/* Step 2^-5: h^4 f''''' / 30 is below 1e-6 and rounding 1e-7 sqrt(n) / h
 * about 2e-5 of slopes of order 1. Kinks at 0 are kept 3 steps away. */
CHECKOP_TEST(test_activation_slopes, .rows = ETX_N_ACTIVATIONS)
{
    enum { N = 40 };
    float *x = checkop_uniform(N, -6.0f, 6.0f);
    float *ones = checkop_buffer(N, sizeof *ones);
    float *d_x = checkop_floats(N);
    const struct etx_activation_backward_args backward = {
        .n = N, .activation = _i, .x = x, .d_y = ones, .d_x = d_x};
    struct etx_activation_args forward = {
        .n = N, .activation = _i, .x = x, .y = checkop_floats(N)};
    const struct checkop_slope slope = {
        "d_x", objective, &forward, x, d_x, N, N, 0x1p-5f, 1e-4, 1e-4, 0.0};

    for (int32_t i = 0; i < N; i++) {
        ones[i] = 1.0f;
        if (fabsf(x[i]) < 0.1f)
            x[i] = 0.1f;
    }
    ck_assert_ok(etx_op_ref.activation_backward(&check.stream[0], &backward));
    checkop_verify_slope(&slope);
}
