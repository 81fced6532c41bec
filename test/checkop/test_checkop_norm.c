/* checkop/test_checkop_norm.c -- perceptrons that are nothing but a norm.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

/* A perceptron whose linear is nothing but the added rows x. */
static struct etx_mlp_args norm_of(
    struct etx_layer *layer, int64_t n_rows, const float *x, float *y)
{
    return (struct etx_mlp_args){.n_rows = n_rows,
        .n_added = 1,
        .n_layers = 1,
        .added = {{.data = x, .width = layer->n_out}},
        .layer = layer,
        .out = y};
}

/* Lines that are constant, all zero, far from zero, tiny and huge. */
CHECKOP_TEST(test_norm_special_rows)
{
    enum { N_ROWS = 6, WIDTH = 37 };
    const float centre[N_ROWS] = {7.0f, 0.0f, 1e4f, 0.0f, 0.0f, 1e6f};
    const float spread[N_ROWS] = {0.0f, 0.0f, 1.0f, 1e-20f, 1e15f, 1e3f};

    for (int32_t norm = 0; norm < ETX_N_NORMS; norm++) {
        const struct checkop_perceptron shape = {N_ROWS, .n_added = 1,
            .no_bias = 1, LAYERS(WIDTH), .last_norm = norm};
        struct checkop_case one;

        checkop_mlp(&one, &shape);
        const struct etx_mlp_args *args = one.args;
        float *x = one.input[one.n_inputs - 1].data; /* the added rows */
        for (int32_t t = 0; t < N_ROWS * WIDTH; t++)
            x[t] = centre[t / WIDTH] + spread[t / WIDTH] * x[t];
        checkop_verify(&one);
        for (int32_t t = 0; t < N_ROWS * WIDTH; t++)
            if (!isfinite(args->out[t]))
                ck_abort_msg("norm %d: out[%d] is not finite", norm, t);
    }
}

/* Layer norm of 1 2 3 4: (x - 2.5) / sqrt(1.25 + 1e-5); batch norm of the
 * columns 1 3 and 2 4: -+1; L2 of 3 4: 0.6 0.8. */
CHECKOP_TEST(test_norm_known)
{
    static const float x[] = {1.0f, 2.0f, 3.0f, 4.0f};
    static const float gain[] = {1.0f, 2.0f, 1.0f, -1.0f};
    static const float shift[] = {0.0f, 0.5f, 0.0f, 1.0f};
    static const struct {
        int32_t norm, n_rows, width;
        const float *x, *gain;
        float want[4];
    } rows[] = {
        {ETX_NORM_LAYER, 1, 4, x, gain,
            {-1.3416354f, -0.39442361f, 0.44721180f, -0.3416354f}},
        {ETX_NORM_BATCH, 2, 2, x, gain,
            {-0.999995f, -1.49999f, 0.999995f, 2.49999f}},
        {ETX_NORM_L2, 1, 2, x + 2, NULL, {0.6f, 0.8f}},
    };

    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int r = 0; r < ROWS(rows); r++) {
            struct etx_layer layer = {.n_out = rows[r].width,
                .norm = rows[r].norm,
                .eps = 1e-5f,
                .gain = rows[r].gain,
                .shift = rows[r].gain != NULL ? shift : NULL};
            float y[4];
            const struct etx_mlp_args args =
                norm_of(&layer, rows[r].n_rows, rows[r].x, y);

            ck_assert_ok(
                check.implementation[i].ops.mlp(&check.stream[0], &args));
            for (int32_t k = 0; k < rows[r].n_rows * rows[r].width; k++)
                ck_assert_float_eq_tol(y[k], rows[r].want[k], 1e-6f);
        }
}

/* Below eps the L2 norm is x / eps, whose slope is 1 / eps. */
CHECKOP_TEST(test_norm_l2_below_eps)
{
    const float x[] = {0.01f, -0.02f};
    const float d_y[] = {1.0f, 3.0f};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float d_x[2];
        struct etx_layer layer = {.n_out = 2, .norm = ETX_NORM_L2, .eps = 0.5f};
        const struct etx_mlp_args forward = norm_of(&layer, 1, x, NULL);
        const struct etx_mlp_backward_args args = {
            .forward = &forward, .d_out = d_y, .d_added = d_x};

        ck_assert_ok(
            check.implementation[i].ops.mlp_backward(&check.stream[0], &args));
        ck_assert_float_eq_tol(d_x[0], 2.0f, 1e-6f);
        ck_assert_float_eq_tol(d_x[1], 6.0f, 1e-6f);
    }
}
