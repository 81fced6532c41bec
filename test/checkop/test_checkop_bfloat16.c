/* checkop/test_checkop_bfloat16.c -- mlp with operands rounded to bfloat16.
 *
 * The fast versions run where the processor has AVX512_BF16 and AMX_BF16; the
 * reference everywhere.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/bfloat16.h"
#include "base/cpu.h"

#include <math.h>

#define WHOLE 700 /* beyond 256 not every whole number is a bfloat16 */

static const struct checkop_perceptron shapes[] = {
    /* filter, of an odd number of inputs */
    {.n_rows = 1000,
        .n_parts = 3,
        .part_width = {6, 6, 9},
        .gathered = 3,
        .n_layers = 3,
        .layer_width = {64, 64, 1},
        .norm = ETX_NORM_LAYER,
        .activation = ETX_ACTIVATION_RELU},
    /* edges of a graph network */
    {.n_rows = 777,
        .n_parts = 1,
        .part_width = {32},
        .n_added = 2,
        .centred = 1,
        .n_layers = 2,
        .layer_width = {32, 32},
        .norm = ETX_NORM_LAYER,
        .activation = ETX_ACTIVATION_SILU,
        .residual = 1,
        .n_segments = 100},
    /* broken vectors, one output with added rows */
    {.n_rows = 130,
        .n_parts = 2,
        .part_width = {32, 67},
        .gathered = 2,
        .n_added = 3,
        .n_layers = 3,
        .layer_width = {67, 33, 5},
        .norm = ETX_NORM_LAYER,
        .norm_last = 1,
        .activation = ETX_ACTIVATION_TANH,
        .residual = 2},
    {.n_rows = 50,
        .n_parts = 1,
        .part_width = {9},
        .n_added = 1,
        .n_layers = 1,
        .layer_width = {1}},
    /* more than one block of inputs */
    {.n_rows = 61,
        .n_parts = 1,
        .part_width = {1301},
        .n_layers = 2,
        .layer_width = {300, 40},
        .activation = ETX_ACTIVATION_RELU}};

/* Products of AVX512_BF16, then in tiles. */
#define N_KINDS 2

/* The streams compute in bfloat16, on what can; a device has no bfloat16. */
static void start(const char *name, int32_t in_tiles)
{
    const int32_t has_tiles = in_tiles && etx_cpu_has_tiles();

    if (in_tiles && !has_tiles)
        etx_test_skip(name, "no AMX_BF16");
    etx_context_free(check.device);
    check.device = NULL;
    check.n_implementations = 1;
    if (etx_cpu_has_bfloat16())
        check.implementation[check.n_implementations++] =
            (struct checkop_implementation){
                .name = has_tiles ? "amx" : "avx512"};
    for (int32_t i = 1; i < check.n_implementations; i++) {
        check.implementation[i].ops = etx_op_ref;
        etx_op_simd(&check.implementation[i].ops, ETX_CPU_AVX512);
    }
    for (int32_t p = 0; p < CHECKOP_N_POOLS; p++) {
        check.stream[p].is_bfloat16 = 1;
        check.stream[p].has_tiles = has_tiles;
    }
}

/* Bounds for rounding to 2^-9, which happens on either side of a tie. */
static void set_bounds(struct checkop_case *self)
{
    checkop_perturbation_bounds(self, INT64_C(1) << 26);
}

CHECKOP_TEST(test_bfloat16_shapes, .rows = N_KINDS * ROWS(shapes))
{
    struct checkop_case one;

    start(__func__, _i / ROWS(shapes));
    checkop_mlp(&one, &shapes[_i % ROWS(shapes)]);
    one.set_bounds = set_bounds;
    checkop_verify(&one);
}

static const int32_t exact_width[] = {21, 64, 333};
/* Whole tiles of rows, pairs of tiles, and less. */
static const int64_t exact_rows[] = {100, 1, 16, 17, 31, 32, 33, 48, 49};

/* Sums of whole numbers are exact in any order: a linear whose weights and
 * inputs are rounded gives the same bits everywhere. */
CHECKOP_TEST(test_bfloat16_exact, .rows = N_KINDS * ROWS(exact_rows))
{
    const int32_t width = exact_width[_i / N_KINDS % ROWS(exact_width)];
    const struct checkop_perceptron shape = {.n_rows = exact_rows[_i / N_KINDS],
        .n_parts = 1,
        .part_width = {width},
        .n_layers = 1,
        .layer_width = {width},
        .no_bias = _i / N_KINDS % 2};
    struct checkop_case one;

    start(__func__, _i % N_KINDS);
    checkop_mlp(&one, &shape);
    for (int32_t k = 0; k < one.n_inputs; k++)
        for (int64_t i = 0; i < one.input[k].n; i++)
            one.input[k].data[i] =
                (float)((int32_t)(etx_random_u32(&check.random) % WHOLE) -
                        WHOLE / 2);
    for (int64_t i = 0; i < one.input[0].n; i += 2)
        one.input[0].data[i] = 0.0f;
    one.set_bounds = NULL;
    checkop_verify(&one);
}

/* Products of rounded values, but not where inputs are few. */
CHECKOP_TEST(test_bfloat16_known, .rows = N_KINDS)
{
    const float x[16] = {1.00390625f, 3.0f}; /* a tie: to the even 1 */
    const float weight[32] = {257.0f, 0.5f, [16] = 1.0f, [17] = 1.01171875f};
    const struct etx_layer wide = {.n_in = 16, .n_out = 2, .weight = weight};
    const struct etx_layer narrow = {.n_in = 2, .n_out = 2, .weight = weight};
    float out[2] = {0.0f, 0.0f};
    struct etx_mlp_args args = {.n_rows = 1,
        .n_parts = 1,
        .n_layers = 1,
        .part = {{.data = x}},
        .out = out};

    start(__func__, _i);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;

        args.layer = &wide;
        args.part[0].width = wide.n_in;
        ck_assert_int_eq(ops->mlp(&check.stream[0], &args), ETX_OK);
        ck_assert_float_eq(out[0], 256.0f + 1.5f);
        ck_assert_float_eq(out[1], 1.0f + 3.0f * 1.015625f);
        args.layer = &narrow;
        args.part[0].width = narrow.n_in;
        ck_assert_int_eq(ops->mlp(&check.stream[0], &args), ETX_OK);
        ck_assert_float_eq(out[0], 257.0f * 1.00390625f + 1.5f);
    }
}
