/* checkop/test_checkop_mlp.c -- mlp and mlp_backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <string.h>

/* The networks of the project's models, and odd ones. */
static const struct checkop_perceptron shapes[] = {
    /* one row, one of everything */
    {1, PARTS(1), LAYERS(1)},
    {2, PARTS(3), LAYERS(5, 2), .activation = ETX_ACTIVATION_TANH,
        .no_bias = 1},
    /* embedding of hits */
    {257, PARTS(12), LAYERS(64, 64, 64, 8), HIDDEN(LAYER, TANH),
        .last_norm = ETX_NORM_L2},
    /* edge filter: gathered ends and edge features, one shared norm after
     * the activation */
    {1000, PARTS(12, 12, 5), .gathered = 3, LAYERS(64, 64, 64, 1),
        HIDDEN(LAYER, TANH), .norm_last = 1, .shared_norm = 1},
    /* message network with a residual in place */
    {333, PARTS(64, 64, 64), .gathered = 3, LAYERS(64, 64, 64),
        HIDDEN(LAYER, SILU), LAST(LAYER, SILU), .residual = 2},
    {131, PARTS(32, 100), .gathered = 2, LAYERS(67, 33), HIDDEN(LAYER, RELU),
        .plain_norm = 1, .residual = 1},
    {100, PARTS(17), LAYERS(33, 31, 5), HIDDEN(BATCH, GELU)},
    {65, PARTS(8, 9), .gathered = 1, LAYERS(128, 3), HIDDEN(BATCH, ELU),
        .norm_last = 1, LAST(BATCH, SIGMOID), .residual = 1},
    {33, PARTS(1, 3, 5, 8, 17), .gathered = 21, LAYERS(67),
        .last_activation = ETX_ACTIVATION_SILU},
    {31, PARTS(100), LAYERS(128, 100), HIDDEN(L2, SIGMOID), .residual = 2},
    {40, PARTS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), .gathered = 0xAAA,
        LAYERS(16, 15, 14, 13, 12, 11, 10, 9, 8, 8, 8, 8, 8, 8, 8, 3),
        HIDDEN(LAYER, TANH), .shared_norm = 1},
    /* wide: more than one block of inputs in a product */
    {70, PARTS(256, 77), .gathered = 1, LAYERS(300, 256), HIDDEN(LAYER, SILU),
        .residual = 1},
    /* wider: weights that do not stay in a cache */
    {61, PARTS(700), LAYERS(520, 300), .activation = ETX_ACTIVATION_RELU},
    /* rows added to the first linear: whole and broken vectors, one output,
     * no part at all */
    {777, PARTS(32), .n_added = 2, .centred = 1, LAYERS(32, 32),
        HIDDEN(LAYER, SILU), .residual = 1},
    {300, PARTS(7, 16), .gathered = 2, .n_added = 4, LAYERS(37, 64, 48),
        HIDDEN(LAYER, TANH), .norm_last = 1, .residual = 2},
    /* linears with nothing between: folded, folded twice, and not where rows
     * are added */
    {200, PARTS(9), LAYERS(40, 30, 20)},
    {200, PARTS(9), .n_added = 1, LAYERS(40, 30, 20), .no_bias = 1},
    {130, .n_added = 2, LAYERS(24, 1), HIDDEN(L2, RELU)},
    {50, PARTS(9), .n_added = 1, LAYERS(1),
        .last_activation = ETX_ACTIVATION_SIGMOID},
    {66, PARTS(9), .n_added = 3, LAYERS(20, 16), HIDDEN(BATCH, ELU)},
    {0, PARTS(3, 4), .gathered = 1, LAYERS(8, 2), .norm = ETX_NORM_LAYER},
    {0, PARTS(3), LAYERS(8), .last_norm = ETX_NORM_BATCH},
    /* one linear of odd, prime and wide sizes, and nothing but a norm */
    {257, PARTS(5), LAYERS(1)}, {64, PARTS(67), LAYERS(64)},
    {31, PARTS(128), LAYERS(100)}, {1000, PARTS(12), LAYERS(33)},
    {7, PARTS(300), LAYERS(9)}, {1, PARTS(1), LAYERS(1), .no_bias = 1},
    {33, .n_added = 1, LAYERS(67), .no_bias = 1, .last_norm = ETX_NORM_LAYER},
    {5, .n_added = 1, LAYERS(300), .no_bias = 1, .last_norm = ETX_NORM_LAYER},
    {257, .n_added = 1, LAYERS(17), .no_bias = 1, .last_norm = ETX_NORM_BATCH},
    {31, .n_added = 1, LAYERS(128), .no_bias = 1, .last_norm = ETX_NORM_L2},
    /* rows enough for many blocks */
    {9001, PARTS(5, 3), .gathered = 1, LAYERS(8, 3), HIDDEN(LAYER, SILU)}};
#define N_SHAPES   ROWS(shapes)
#define LONG_SHAPE (N_SHAPES - 1)

CHECKOP_VERIFY(test_mlp_shapes, N_SHAPES, checkop_mlp(&one, &shapes[_i]))

/* Zeros, denormals and products up to 1e30. */
CHECKOP_TEST(test_mlp_extremes)
{
    const struct checkop_perceptron shape = {33, PARTS(19), LAYERS(23)};
    struct checkop_case one;

    check.values = CHECKOP_PRODUCTS;
    checkop_mlp(&one, &shape);
    checkop_verify(&one);
    checkop_mlp_backward(&one, &shape);
    checkop_verify(&one);
}

/* The perceptron with layers that were made ready before. */
static etx_status run_prepared(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_mlp_args args = *(const struct etx_mlp_args *)self->args;
    struct etx_layer layer[ETX_MAX_LAYERS];
    const struct etx_mlp_prepare_args prepare = {
        .forward = self->args, .layer = layer, .n_layers = &args.n_layers};
    etx_status status = ops->mlp_prepare(stream, &prepare);

    args.layer = layer;
    if (status == ETX_OK)
        status = ops->mlp(stream, &args);
    etx_arena_reset(stream->arena, mark);
    return status;
}

CHECKOP_TEST(test_mlp_prepared_shapes, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_mlp(&one, &shapes[_i]);
    one.op = "mlp_prepare";
    one.run = run_prepared;
    checkop_verify(&one);
}

CHECKOP_VERIFY(
    test_mlp_backward_shapes, N_SHAPES, checkop_mlp_backward(&one, &shapes[_i]))

/* mlp, and mlp_backward with what that leaves of its linears. */
static etx_status run_after_forward(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_mlp_backward_args args =
        *(const struct etx_mlp_backward_args *)self->args;
    struct etx_mlp_args forward = *args.forward;
    const int64_t width = etx_mlp_linear_width(forward.layer, forward.n_layers);
    etx_status status = etx_arena_alloc(&forward.linear, stream->arena,
        forward.n_rows * width, sizeof(float), "linears");

    args.forward = &forward;
    if (status == ETX_OK)
        status = etx_arena_alloc(&forward.out, stream->arena,
            forward.n_rows * forward.layer[forward.n_layers - 1].n_out,
            sizeof(float), "out");
    if (status == ETX_OK)
        status = ops->mlp(stream, &forward);
    if (status == ETX_OK)
        status = ops->mlp_backward(stream, &args);
    etx_arena_reset(stream->arena, mark);
    return status;
}

CHECKOP_TEST(test_mlp_backward_after_forward, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_mlp_backward(&one, &shapes[_i]);
    one.run = run_after_forward;
    checkop_verify(&one);
}

/* Linears that are kept give the bits of those that are made again. */
CHECKOP_TEST(test_mlp_backward_same_bits, .rows = N_SHAPES)
{
    float *again[CHECKOP_MAX_OUTPUTS], *kept[CHECKOP_MAX_OUTPUTS];
    struct checkop_case one;

    checkop_mlp_backward(&one, &shapes[_i]);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        struct checkop_case after = one;
        checkop_run_and_copy(again, &one, ops);
        after.run = run_after_forward;
        checkop_run_and_copy(kept, &after, ops);
        for (int32_t k = 0; k < one.n_outputs; k++)
            ck_assert_mem_eq(
                kept[k], again[k], (size_t)one.output[k].n * sizeof(float));
    }
}

/* Linears that are kept are not made again: the gradient follows them. */
static etx_status run_with_doubled_linears(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self, float *linear)
{
    struct etx_mlp_backward_args args =
        *(const struct etx_mlp_backward_args *)self->args;
    struct etx_mlp_args forward = *args.forward;
    const int64_t n =
        forward.n_rows * etx_mlp_linear_width(forward.layer, forward.n_layers);
    etx_status status;

    forward.linear = linear;
    forward.out = checkop_buffer(
        forward.n_rows * forward.layer[forward.n_layers - 1].n_out,
        sizeof(float));
    args.forward = &forward;
    status = ops->mlp(stream, &forward);
    for (int64_t i = 0; i < n; i++)
        linear[i] *= 2.0f;
    return status == ETX_OK ? ops->mlp_backward(stream, &args) : status;
}

CHECKOP_TEST(test_mlp_backward_reads_linears)
{
    const struct checkop_perceptron shape = {
        300, PARTS(7), LAYERS(24, 19, 3), .activation = ETX_ACTIVATION_TANH};
    float *again[CHECKOP_MAX_OUTPUTS];

    for (int32_t i = 1; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        struct checkop_case one;
        checkop_mlp_backward(&one, &shape);
        float *linear = checkop_buffer(300 * 46, sizeof *linear);
        checkop_run_and_copy(again, &one, ops);
        ck_assert_ok(
            run_with_doubled_linears(ops, &check.stream[0], &one, linear));
        ck_assert_mem_ne(one.output[0].data, again[0],
            (size_t)one.output[0].n * sizeof(float));
    }
}

/* Only the rows', only the parameters', no gradients. */
CHECKOP_TEST(test_mlp_backward_some_outputs, .is_large = 1)
{
    for (int32_t mask = 1; mask < 4; mask++) {
        struct checkop_perceptron shape = shapes[3];
        struct checkop_case one;
        shape.no_part_gradient = mask & 1;
        shape.no_parameter_gradient = mask >> 1;
        checkop_mlp_backward(&one, &shape);
        checkop_verify(&one);
    }
}

/* Every activation and norm in both orders, at widths of every remainder. */
CHECKOP_TEST(test_mlp_kinds, .rows = ETX_N_ACTIVATIONS)
{
    struct checkop_perceptron shape = {37, PARTS(6, 5), .gathered = 1,
        LAYERS(8 + _i, 17 - _i), .activation = _i, .last_activation = _i,
        .residual = 1};

    for (int32_t norm = 0; norm < ETX_N_NORMS; norm++)
        for (shape.norm_last = 0; shape.norm_last < 2; shape.norm_last++) {
            struct checkop_case one;
            shape.norm = norm;
            shape.last_norm = norm;
            checkop_mlp(&one, &shape);
            checkop_verify(&one);
            checkop_mlp_backward(&one, &shape);
            checkop_verify(&one);
        }
}

/* out of a hand-made network: y = relu(2 x0 - x1 + 1) * 3 - 1 + residual. */
CHECKOP_TEST(test_mlp_known)
{
    static const float first[] = {2.0f, -1.0f};
    static const float bias[] = {1.0f};
    static const float second[] = {3.0f};
    static const float minus[] = {-1.0f};
    static const float left[] = {1.0f, 5.0f};
    static const float right[] = {0.5f, 4.0f, -2.0f};
    static const int32_t right_row[] = {2, 0, 1};
    static const int32_t left_row[] = {0, 1, 0};
    static const float residual[] = {0.25f, 0.5f, 10.0f};
    static const float want[] = {14.25f, 31.0f, 9.0f};
    const struct etx_layer layer[] = {{.n_in = 2,
                                          .n_out = 1,
                                          .weight = first,
                                          .bias = bias,
                                          .activation = ETX_ACTIVATION_RELU},
        {.n_in = 1, .n_out = 1, .weight = second, .bias = minus}};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        float out[3];
        const struct etx_mlp_args args = {.n_rows = 3,
            .n_parts = 2,
            .n_layers = 2,
            .part = {{left, left_row, 1}, {right, right_row, 1}},
            .layer = layer,
            .residual = residual,
            .out = out};
        ck_assert_ok(check.implementation[i].ops.mlp(&check.stream[0], &args));
        for (int32_t t = 0; t < 3; t++)
            ck_assert_float_eq_tol(out[t], want[t], 1e-5f);
    }
}

/* A row's result does not depend on the rows next to it (but for batch norm):
 * the way an event is cut must not show. */
CHECKOP_TEST(test_mlp_rows_are_independent, .rows = 2)
{
    const struct checkop_perceptron *shape = &shapes[_i ? LONG_SHAPE : 3];
    const int32_t n_out = shape->layer_width[shape->n_layers - 1];
    const int64_t skipped = 137;
    struct checkop_case one;

    checkop_mlp(&one, shape);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        const struct etx_op_table *ops = &check.implementation[i].ops;
        struct etx_mlp_args args = *(const struct etx_mlp_args *)one.args;
        float *whole = checkop_floats(args.n_rows * n_out);
        float *piece = checkop_floats(args.n_rows * n_out);
        args.out = whole;
        ck_assert_ok(ops->mlp(&check.stream[1], &args));
        args.n_rows -= skipped;
        args.out = piece;
        for (int32_t p = 0; p < args.n_parts; p++)
            if (args.part[p].index != NULL)
                args.part[p].index += skipped;
            else
                args.part[p].data += skipped * args.part[p].width;
        ck_assert_ok(ops->mlp(&check.stream[1], &args));
        ck_assert_mem_eq(piece, whole + skipped * n_out,
            (size_t)(args.n_rows * n_out) * sizeof *piece);
    }
}

CHECKOP_TEST(test_mlp_interrupted)
{
    struct checkop_case one;

    checkop_mlp(&one, &shapes[4]);
    checkop_verify_interrupted(&one);
    checkop_mlp_backward(&one, &shapes[4]);
    checkop_verify_interrupted(&one);
}
