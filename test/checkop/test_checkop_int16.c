/* checkop/test_checkop_int16.c -- mlp with operands rounded to int16.
 *
 * With AVX2 and, where the processor has it, AVX512_VNNI.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/cpu.h"

#include <math.h>
#include <string.h>

#define N_OUT 96 /* least outputs of a layer that rounds */

static const struct checkop_perceptron shapes[] = {
    /* filter, of an odd number of inputs */
    {.n_rows = 1000,
        .n_parts = 3,
        .part_width = {6, 6, 9},
        .gathered = 3,
        .n_layers = 3,
        .layer_width = {128, 96, 1},
        .norm = ETX_NORM_LAYER,
        .activation = ETX_ACTIVATION_RELU},
    /* edges of a graph network */
    {.n_rows = 777,
        .n_parts = 1,
        .part_width = {128},
        .n_added = 2,
        .centred = 1,
        .n_layers = 2,
        .layer_width = {128, 128},
        .norm = ETX_NORM_LAYER,
        .activation = ETX_ACTIVATION_SILU,
        .residual = 1,
        .n_segments = 100},
    /* broken vectors, one output with added rows */
    {.n_rows = 130,
        .n_parts = 2,
        .part_width = {32, 107},
        .gathered = 2,
        .n_added = 3,
        .n_layers = 3,
        .layer_width = {117, 101, 107},
        .norm = ETX_NORM_LAYER,
        .norm_last = 1,
        .activation = ETX_ACTIVATION_TANH,
        .residual = 2},
    /* more than one block of inputs */
    {.n_rows = 61,
        .n_parts = 1,
        .part_width = {1301},
        .n_layers = 2,
        .layer_width = {300, 100},
        .activation = ETX_ACTIVATION_RELU}};

/* The instruction sets, by name. */
static const struct {
    const char *name;
    int32_t level;
} versions[] = {{"avx2", ETX_CPU_AVX2}, {"vnni", ETX_CPU_AVX512}};

/* The streams compute in int16, with the reference and one instruction set,
 * where the processor has it. */
static void start(const char *name, int32_t version)
{
    const int32_t level = versions[version].level;

    etx_context_free(check.device);
    check.device = NULL;
    check.n_implementations = 1;
    if (!etx_cpu_has(level))
        etx_test_skip(name, "no AVX2 or AVX-512");
    else if (level == ETX_CPU_AVX512 && !etx_cpu_has_vnni())
        etx_test_skip(name, "no AVX512_VNNI");
    else
        check.n_implementations = 2;
    check.implementation[1] =
        (struct checkop_implementation){.name = versions[version].name};
    check.implementation[1].ops = etx_op_ref;
    etx_op_simd(&check.implementation[1].ops, level);
    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++)
        check.stream[p].is_int16 = 1;
}

/* Bounds for an input rounded to the other side of a tie. */
static void set_bounds(struct checkop_case *self)
{
    checkop_perturbation_bounds(self, INT64_C(1) << 24);
}

CHECKOP_TEST(test_int16_shapes, .rows = ROWS(versions) * ROWS(shapes))
{
    struct checkop_case one;

    start(__func__, _i / ROWS(shapes));
    checkop_mlp(&one, &shapes[_i % ROWS(shapes)]);
    one.set_bounds = set_bounds;
    checkop_verify(&one);
}

static const int32_t exact_width[] = {96, 128, 333, 1024};
static const int64_t exact_rows[] = {100, 1, 7, 33, 48};

/* Sums of integers are exact: a linear has the bits of the reference, up to one
 * block of the inner index. */
CHECKOP_TEST(test_int16_exact,
    .rows = ROWS(versions) * ROWS(exact_width) * ROWS(exact_rows))
{
    const int32_t row = _i / ROWS(versions);
    const int32_t width = exact_width[row % ROWS(exact_width)];
    const struct checkop_perceptron shape = {
        .n_rows = exact_rows[row / ROWS(exact_width)],
        .n_parts = 1,
        .part_width = {width},
        .n_layers = 1,
        .layer_width = {width},
        .no_bias = row % 2};
    struct checkop_case one;

    start(__func__, _i % ROWS(versions));
    checkop_mlp(&one, &shape);
    one.set_bounds = NULL;
    checkop_verify(&one);
}

/* The largest inputs and weights there are do not overflow. */
CHECKOP_TEST(test_int16_largest, .rows = ROWS(versions) * 3)
{
    static const int32_t width[] = {16, 512, 1024};
    const int32_t n = width[_i / ROWS(versions)];
    scoped float *x = etx_test_alloc(n, sizeof *x);
    scoped float *weight = etx_test_alloc(N_OUT * n, sizeof *weight);
    const struct etx_layer layer = {
        .n_in = n, .n_out = N_OUT, .weight = weight};
    float out[N_OUT] = {0.0f};
    struct etx_mlp_args args = {.n_rows = 1,
        .n_parts = 1,
        .n_layers = 1,
        .layer = &layer,
        .part = {{.data = x, .width = n}},
        .out = out};

    start(__func__, _i % ROWS(versions));
    memset(weight, 0, (size_t)(N_OUT * n) * sizeof *weight);
    for (int32_t k = 0; k < n; k++) {
        x[k] = 3e4f;
        weight[k] = -2.0f;
        weight[n + k] = k % 2 == 0 ? 2.0f : -2.0f;
    }
    for (int32_t i = 0; i < check.n_implementations; i++) {
        ck_assert_int_eq(
            check.implementation[i].ops.mlp(&check.stream[0], &args), ETX_OK);
        ck_assert_float_eq_tol(out[0], -6e4f * (float)n, 10.0f * (float)n);
        ck_assert_float_eq_tol(out[1], 0.0f, 1.0f);
    }
}

/* What is not finite stays so, and a row of zeros is zeros. */
CHECKOP_TEST(test_int16_not_finite, .rows = ROWS(versions) * 4)
{
    static const float value[] = {INFINITY, -INFINITY, NAN, 0.0f};
    float x[2 * 16] = {0};
    float weight[N_OUT * 16];
    const struct etx_layer layer = {
        .n_in = 16, .n_out = N_OUT, .weight = weight};
    float out[2 * N_OUT] = {0.0f};
    struct etx_mlp_args args = {.n_rows = 2,
        .n_parts = 1,
        .n_layers = 1,
        .layer = &layer,
        .part = {{.data = x, .width = 16}},
        .out = out};

    start(__func__, _i % ROWS(versions));
    for (int k = 0; k < N_OUT * 16; k++)
        weight[k] = 0.5f;
    for (int k = 0; k < 16; k++)
        x[16 + k] = 1.0f;
    x[5] = value[_i / ROWS(versions)];
    for (int32_t i = 0; i < check.n_implementations; i++) {
        ck_assert_int_eq(
            check.implementation[i].ops.mlp(&check.stream[0], &args), ETX_OK);
        ck_assert_float_eq_tol(out[N_OUT], 8.0f, 1e-3f);
        if (isfinite(x[5]))
            ck_assert_float_eq(out[0], 0.0f);
        else
            ck_assert(!isfinite(out[0]));
    }
}
