/* checkop/test_checkop_training.c -- losses and the optimiser.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

static const int32_t sizes[] = {0, 1, 2, 31, 33, 257, 1000, 20001};
#define N_SIZES ROWS(sizes)

/* -------------------------------------------------------------- bce_loss -- */

CHECKOP_TEST(test_training_bce_sizes, .rows = N_SIZES)
{
    for (int32_t weighted = 0; weighted < 2; weighted++) {
        struct checkop_case one;
        check.values = weighted ? CHECKOP_NORMAL : CHECKOP_PRODUCTS;
        checkop_bce_loss(&one, sizes[_i], weighted);
        checkop_verify(&one);
    }
}

CHECKOP_TEST(test_training_focal_sizes, .rows = N_SIZES)
{
    struct checkop_case one;
    struct etx_bce_loss_args *args;

    check.values = CHECKOP_NORMAL;
    checkop_bce_loss(&one, sizes[_i], 1);
    args = one.args;
    args->focal_gamma = 2.0f;
    checkop_verify(&one);
}

/* x = 2, y = 1, gamma 2: (1 - p)^2 (-log p) with p = sigmoid(2); x = -1,
 * y = 0, gamma 2: p^2 (-log(1 - p)) with p = sigmoid(-1). */
CHECKOP_TEST(test_training_focal_known)
{
    static const float logit[] = {2.0f, -1.0f};
    static const float target[] = {1.0f, 0.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        double loss = -1.0;
        const struct etx_bce_loss_args args = {.n = 2,
            .logit = logit,
            .target = target,
            .pos_weight = 3.0f,
            .focal_gamma = 2.0f,
            .loss_sum = &loss};
        ck_assert_ok(ops->bce_loss(&check.stream[0], &args));
        ck_assert_double_eq_tol(loss,
            3.0 * 0.0142093366 * 0.1269280110 + 0.0723294881 * 0.3132616875,
            1e-8);
    }
}

/* x = 2, y = 1: softplus(-2); x = -1, y = 0: softplus(-1); x = 0.5, y = 0.25,
 * weight 2; a masked one. pos_weight 3, scale 0.5. */
CHECKOP_TEST(test_training_bce_known)
{
    static const float logit[] = {2.0f, -1.0f, 0.5f, 1e30f};
    static const float target[] = {1.0f, 0.0f, 0.25f, 0.0f};
    static const float weight[] = {1.0f, 1.0f, 2.0f, 0.0f};
    const double want = 2.86627667319;
    const double slope[] = {
        -0.178804383033, 0.134470710685, 0.183688996803, 0.0};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        double loss = -1.0, weights = -1.0;
        float d_logit[4];
        struct etx_bce_loss_args args = {.n = 4,
            .logit = logit,
            .target = target,
            .weight = weight,
            .pos_weight = 3.0f,
            .loss_sum = &loss,
            .weight_sum = &weights,
            .scale = 0.5f,
            .d_logit = d_logit};
        ck_assert_ok(ops->bce_loss(&check.stream[0], &args));
        ck_assert_double_eq_tol(loss, want, 1e-6);
        ck_assert_double_eq_tol(weights, 4.0, 1e-6);
        for (int32_t e = 0; e < 4; e++)
            ck_assert_double_eq_tol((double)d_logit[e], slope[e], 1e-6);
        args.loss_sum = NULL; /* every output may be left out */
        args.weight_sum = NULL;
        args.d_logit = NULL;
        ck_assert_ok(ops->bce_loss(&check.stream[0], &args));
        ck_assert_double_eq_tol(loss, want, 1e-6);
    }
}

CHECKOP_TEST(test_training_bce_exceptions)
{
    static const float logit[] = {0.0f, -0.0f, 1e-40f, 88.0f, -88.0f, 104.0f,
        -104.0f, 1e30f, -1e30f, FLT_MAX, -FLT_MAX, 1.0f, -17.0f};
    enum { N = sizeof logit / sizeof logit[0] };

    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int32_t positive = 0; positive < 2; positive++) {
            double loss, weights;
            float d_logit[N], target[N];
            const struct etx_bce_loss_args args = {.n = N,
                .logit = logit,
                .target = target,
                .pos_weight = 1.0f,
                .loss_sum = &loss,
                .weight_sum = &weights,
                .scale = 1.0f,
                .d_logit = d_logit};
            for (int32_t e = 0; e < N; e++)
                target[e] = (float)positive;
            feclearexcept(FE_ALL_EXCEPT);
            ck_assert_ok(
                check.implementation[i].ops.bce_loss(&check.stream[0], &args));
            ck_assert_int_eq(
                fetestexcept(FE_INVALID | FE_OVERFLOW | FE_DIVBYZERO), 0);
            ck_assert(isfinite(loss));
            for (int32_t e = 0; e < N; e++)
                if (!(fabsf(d_logit[e]) <= 1.0f))
                    ck_abort_msg("slope %g", (double)d_logit[e]);
        }
}

static double bce_objective(void *user)
{
    const struct etx_bce_loss_args *args = user;

    if (etx_op_ref.bce_loss(&check.stream[0], args) != ETX_OK)
        return NAN;
    return *args->loss_sum;
}

/* The loss is float64 throughout: with h = 1/16, h^4 / 30 is 5e-7. */
CHECKOP_TEST(test_training_bce_slopes, .rows = 2)
{
    enum { N = 60 };
    struct checkop_case one;

    checkop_bce_loss(&one, N, 1);
    struct etx_bce_loss_args *args = one.args;
    float *logit = checkop_floats(N);
    float *d_logit = args->d_logit;
    args->logit = logit;
    args->scale = 1.0f;
    args->focal_gamma = _i ? 1.5f : 0.0f;
    (void)bce_objective(args);
    args->d_logit = NULL;
    const struct checkop_slope slope = {"d_logit", bce_objective, args, logit,
        d_logit, N, N, 0x1p-4f, 1e-5, 1e-5, 0.0};
    checkop_verify_slope(&slope);
}

/* ----------------------------------------------------------- square_loss -- */

CHECKOP_TEST(test_training_square_sizes, .rows = N_SIZES)
{
    struct checkop_case one;

    check.values = CHECKOP_NORMAL;
    checkop_square_loss(&one, sizes[_i]);
    checkop_verify(&one);
}

/* Misses 1.5, none, -2 and 0; the slope is requested or not. */
CHECKOP_TEST(test_training_square_known)
{
    static const float x[] = {2.0f, 1.0f, -1.0f, 3.0f};
    static const float target[] = {0.5f, NAN, 1.0f, 3.0f};
    static const float slope[] = {0.75f, 0.0f, -1.0f, 0.0f};

    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int32_t has_slope = 0; has_slope < 2; has_slope++) {
            double sum = -1.0;
            float d_x[4] = {0.0f};
            const struct etx_square_loss_args args = {.n = 4,
                .x = x,
                .target = target,
                .scale = 0.5,
                .d_x = has_slope ? d_x : NULL,
                .sum = &sum};
            ck_assert_ok(check.implementation[i].ops.square_loss(
                &check.stream[0], &args));
            ck_assert_double_eq(sum, 6.25);
            for (int32_t k = 0; k < 4 && has_slope; k++)
                ck_assert_float_eq(d_x[k], slope[k]);
        }
}

/* ------------------------------------------------------------ hinge_loss -- */

static const int32_t pair_shapes[][3] = {{1, 0, 3}, {1, 1, 1}, {2, 2, 3},
    {31, 33, 5}, {33, 257, 8}, {257, 100, 17}, {100, 1000, 8}, {1000, 9001, 8},
    {50, 400, 12}};
#define N_PAIR_SHAPES ROWS(pair_shapes)

/* A pair at the margin has its gradient or not by one rounding: move such
 * pairs to the positive ones, where nothing happens there. */
static void avoid_margin(const struct etx_hinge_loss_args *args)
{
    uint8_t *target = (uint8_t *)(uintptr_t)args->target;

    for (int64_t p = 0; p < args->n_pairs; p++) {
        double s = 0.0;
        for (int32_t k = 0; k < args->n_dim; k++) {
            const int64_t a = (int64_t)args->a[p] * args->n_dim + k;
            const int64_t b = (int64_t)args->b[p] * args->n_dim + k;
            const double d = (double)args->point[a] - (double)args->point[b];
            s += d * d;
        }
        if (fabs(sqrt(s) - (double)args->margin) < 0.05)
            target[p] = 1;
    }
}

CHECKOP_TEST(test_training_hinge_shapes, .rows = N_PAIR_SHAPES)
{
    for (int32_t hinge = 0; hinge < 2; hinge++) {
        struct checkop_case one;
        checkop_hinge_loss(&one, hinge, pair_shapes[_i][0], pair_shapes[_i][1],
            pair_shapes[_i][2]);
        avoid_margin(one.args);
        checkop_verify(&one);
        one.n_outputs = 2; /* the same without gradient */
        ((struct etx_hinge_loss_args *)one.args)->d_point = NULL;
        one.set_bounds = NULL;
        checkop_verify(&one);
    }
}

/* Points 0, (3, 4) / 10 and (0, 1): s = 0.25 attracted, s = 1 and 0.45
 * repelled with margin 2 and weights 1 and 2. */
CHECKOP_TEST(test_training_hinge_known)
{
    static const float point[] = {0.0f, 0.0f, 0.3f, 0.4f, 0.0f, 1.0f};
    static const int32_t a[] = {0, 0, 1, 2};
    static const int32_t b[] = {1, 2, 2, 2};
    static const uint8_t target[] = {1, 0, 0, 0};
    static const float weight[] = {1.0f, 1.0f, 2.0f, 0.5f};
    static const double negative[] = {12.1, 6.533436854};

    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int32_t hinge = 0; hinge < 2; hinge++) {
            double sum[2] = {-1.0, -1.0};
            float d_point[6] = {0.0f};
            const struct etx_hinge_loss_args args = {.n_pairs = 4,
                .n_points = 3,
                .n_dim = 2,
                .hinge = hinge,
                .margin = 2.0f,
                .point = point,
                .a = a,
                .b = b,
                .target = target,
                .weight = weight,
                .positive_scale = 1.0f,
                .negative_scale = 1.0f,
                .positive_sum = &sum[0],
                .negative_sum = &sum[1],
                .d_point = d_point};
            ck_assert_ok(check.implementation[i].ops.hinge_loss(
                &check.stream[0], &args));
            ck_assert_double_eq_tol(sum[0], 0.25, 1e-6);
            ck_assert_double_eq_tol(sum[1], negative[hinge], 1e-5);
            for (int32_t t = 0; t < 6; t++)
                ck_assert(isfinite(d_point[t]));
        }
}

static double hinge_objective(void *user)
{
    const struct etx_hinge_loss_args *args = user;

    if (etx_op_ref.hinge_loss(&check.stream[0], args) != ETX_OK)
        return NAN;
    return (double)args->positive_scale * *args->positive_sum +
           (double)args->negative_scale * *args->negative_sum;
}

/* In float64 throughout; pairs keep 0.05 from the margin and the step is
 * 1/256. The distance form has a cusp at 0: no pair is that close. */
CHECKOP_TEST(test_training_hinge_slopes, .rows = 2)
{
    enum { N_POINTS = 20, N_PAIRS = 70, N_DIM = 3, N = N_POINTS * N_DIM };
    struct checkop_case one;

    checkop_hinge_loss(&one, _i, N_POINTS, N_PAIRS, N_DIM);
    struct etx_hinge_loss_args *args = one.args;
    float *point = checkop_floats(N);
    float *d_point = checkop_buffer(N, sizeof *d_point);
    args->point = point;
    args->d_point = d_point;
    avoid_margin(args);
    (void)hinge_objective(args);
    args->d_point = NULL;
    for (int64_t p = 0; p < N_PAIRS; p++)
        if (args->a[p] == args->b[p])
            ((uint8_t *)(uintptr_t)args->target)[p] = 1; /* d = 0, always */
    const struct checkop_slope slope = {"d_point", hinge_objective, args, point,
        d_point, N, N, 0x1p-8f, 1e-4, 1e-4, 0.0};
    checkop_verify_slope(&slope);
}

/* ----------------------------------------------------------------- adamw -- */

CHECKOP_TEST(test_training_adamw_sizes, .rows = N_SIZES)
{
    static const int64_t steps[] = {1, 2, 1000, 1000000};

    for (int32_t amsgrad = 0; amsgrad < 2; amsgrad++) {
        struct checkop_case one;
        checkop_adamw(&one, sizes[_i], steps[_i % 4], amsgrad, 0);
        checkop_verify(&one);
        checkop_adamw(&one, sizes[_i], steps[_i % 4], amsgrad, 1);
        checkop_verify(&one);
    }
}

/* Three steps of two parameters by PyTorch's formula in float64: lr 0.01,
 * betas 0.9 and 0.9 (so that the AMSGrad maximum shows), eps 1e-8, decay
 * 0.1; the gradient of the first is 0.5, -2, 0.1, of the second 0, 1e-4, 3. */
CHECKOP_TEST(test_training_adamw_known, .rows = 2)
{
    static const float gradient[3][2] = {
        {0.5f, 0.0f}, {-2.0f, 1e-4f}, {0.1f, 3.0f}};
    static const double want[2][3][2] = {
        {{0.9890000002, -0.4995}, {0.993481683048, -0.506254262639},
            {0.996517042968, -0.511822757969}},
        {{0.9890000002, -0.4995}, {0.993481683048, -0.506254262639},
            {0.996315318572, -0.511822757969}}};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float parameter[2] = {1.0f, -0.5f};
        float m[2] = {0.0f}, v[2] = {0.0f}, v_max[2] = {0.0f};
        for (int32_t step = 0; step < 3; step++) {
            const struct etx_adamw_args args = {.n = 2,
                .step = step + 1,
                .learning_rate = 0.01f,
                .beta1 = 0.9f,
                .beta2 = 0.9f,
                .eps = 1e-8f,
                .weight_decay = 0.1f,
                .gradient = gradient[step],
                .parameter = parameter,
                .m = m,
                .v = v,
                .v_max = _i ? v_max : NULL};
            ck_assert_ok(
                check.implementation[i].ops.adamw(&check.stream[0], &args));
            for (int32_t k = 0; k < 2; k++)
                ck_assert_double_eq_tol(
                    (double)parameter[k], want[_i][step][k], 1e-6);
        }
    }
}

/* Without decay a parameter moves by the gradient alone: with no gradient, not
 * at all; with decay it shrinks. */
CHECKOP_TEST(test_training_adamw_decays)
{
    static const float decays[] = {1.0f, 0.0f};
    static const float gradient[] = {0.0f, 0.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float parameter[] = {2.0f, 2.0f};
        float m[2] = {0.0f}, v[2] = {0.0f};
        const struct etx_adamw_args args = {.n = 2,
            .step = 1,
            .learning_rate = 0.1f,
            .beta1 = 0.9f,
            .beta2 = 0.999f,
            .eps = 1e-8f,
            .weight_decay = 0.5f,
            .decays = decays,
            .gradient = gradient,
            .parameter = parameter,
            .m = m,
            .v = v};
        ck_assert_ok(
            check.implementation[i].ops.adamw(&check.stream[0], &args));
        ck_assert_float_eq_tol(parameter[0], 1.9f, 1e-6f);
        ck_assert_float_eq(parameter[1], 2.0f);
    }
}
