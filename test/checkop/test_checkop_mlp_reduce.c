/* checkop/test_checkop_mlp_reduce.c -- mlp that reduces its rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <check.h>

static struct checkop check;

static void start(void)
{
    checkop_start(&check, 117);
}

static void stop(void)
{
    checkop_stop(&check);
}

/* Rows reduced over segments: some longer than a group of blocks, many without
 * rows, none at all. */
static const struct checkop_perceptron reduced[] = {
    {.n_rows = 2500,
        .n_parts = 2,
        .part_width = {16, 64},
        .gathered = 1,
        .n_layers = 2,
        .layer_width = {32, 64},
        .norm = ETX_NORM_LAYER,
        .activation = ETX_ACTIVATION_SILU,
        .residual = 2,
        .n_segments = 60},
    {.n_rows = 2500,
        .n_parts = 1,
        .part_width = {9},
        .n_layers = 1,
        .layer_width = {33},
        .last_activation = ETX_ACTIVATION_TANH,
        .n_segments = 2},
    {.n_rows = 1000,
        .n_parts = 1,
        .part_width = {3},
        .n_layers = 2,
        .layer_width = {8, 130},
        .n_segments = 3000},
    {.n_rows = 700,
        .n_parts = 1,
        .part_width = {3},
        .n_layers = 2,
        .layer_width = {8, 5},
        .norm = ETX_NORM_BATCH,
        .n_segments = 50},
    {.n_rows = 1500,
        .n_parts = 1,
        .part_width = {12},
        .n_layers = 2,
        .layer_width = {16, 16},
        .n_segments = 90,
        .reduce = ETX_REDUCE_MAX},
    {.n_rows = 0,
        .n_parts = 1,
        .part_width = {3},
        .n_layers = 1,
        .layer_width = {8},
        .n_segments = 7}};
#define N_REDUCED ((int)(sizeof reduced / sizeof reduced[0]))

START_TEST(test_mlp_reduced)
{
    struct checkop_case one;

    checkop_mlp(&one, &check, &reduced[_i]);
    checkop_verify(&check, &one);
}
END_TEST

/* mlp, and what segment_reduce makes of its out. */
static etx_status run_apart(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    struct etx_mlp_args args = *(const struct etx_mlp_args *)self->args;
    const struct etx_segment_reduce_args *reduce = args.reduce;
    etx_status status;

    args.reduce = NULL;
    status = ops->mlp(stream, &args);
    return status == ETX_OK ? ops->segment_reduce(stream, reduce) : status;
}

/* Rows that are reduced on the way give the bits of those that are reduced
 * afterwards. */
START_TEST(test_mlp_reduced_same_bits)
{
    float *apart[CHECKOP_MAX_OUTPUTS], *together[CHECKOP_MAX_OUTPUTS];
    struct checkop_case one;

    checkop_mlp(&one, &check, &reduced[_i]);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        struct checkop_case after = one;
        checkop_run_and_copy(&check, together, &one, ops);
        after.run = run_apart;
        checkop_run_and_copy(&check, apart, &after, ops);
        for (int32_t k = 0; k < one.n_outputs; k++)
            ck_assert_mem_eq(
                apart[k], together[k], (size_t)one.output[k].n * sizeof(float));
    }
}
END_TEST

Suite *etx_suite_checkop_mlp_reduce(void);
Suite *etx_suite_checkop_mlp_reduce(void)
{
    Suite *suite = suite_create("checkop_mlp_reduce");
    TCase *tests = tcase_create("mlp_reduce");

    tcase_add_checked_fixture(tests, start, stop);
    tcase_add_loop_test(tests, test_mlp_reduced, 0, N_REDUCED);
    tcase_add_loop_test(tests, test_mlp_reduced_same_bits, 0, N_REDUCED);
    suite_add_tcase(suite, tests);
    return suite;
}
