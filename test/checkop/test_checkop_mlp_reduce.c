/* checkop/test_checkop_mlp_reduce.c -- mlp that reduces its rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

/* Rows reduced over segments: some longer than a group of blocks, many without
 * rows, none at all. */
static const struct checkop_perceptron reduced[] = {
    {2500, PARTS(16, 64), .gathered = 1, LAYERS(32, 64), HIDDEN(LAYER, SILU),
        .residual = 2, .n_segments = 60},
    {2500, PARTS(9), LAYERS(33), .last_activation = ETX_ACTIVATION_TANH,
        .n_segments = 2},
    {1000, PARTS(3), LAYERS(8, 130), .n_segments = 3000},
    {700, PARTS(3), LAYERS(8, 5), .norm = ETX_NORM_BATCH, .n_segments = 50},
    {1500, PARTS(12), LAYERS(16, 16), .n_segments = 90,
        .reduce = ETX_REDUCE_MAX},
    {0, PARTS(3), LAYERS(8), .n_segments = 7}};
#define N_REDUCED ROWS(reduced)

CHECKOP_VERIFY(test_mlp_reduced, N_REDUCED, checkop_mlp(&one, &reduced[_i]))

/* mlp, and what segment_reduce makes of its out. */
static etx_status run_separately(const struct etx_op_table *ops,
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
CHECKOP_TEST(test_mlp_reduced_same_bits, .rows = N_REDUCED)
{
    float *separate[CHECKOP_MAX_OUTPUTS], *together[CHECKOP_MAX_OUTPUTS];
    struct checkop_case one;

    checkop_mlp(&one, &reduced[_i]);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        struct checkop_case after = one;
        checkop_run_and_copy(together, &one, ops);
        after.run = run_separately;
        checkop_run_and_copy(separate, &after, ops);
        for (int32_t k = 0; k < one.n_outputs; k++)
            ck_assert_mem_eq(separate[k], together[k],
                (size_t)one.output[k].n * sizeof(float));
    }
}
