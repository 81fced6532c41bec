/* checkop/test_checkop_segment_reduce.c -- reductions and their backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

/* Segments, values, width. */
static const int32_t shapes[][3] = {{0, 0, 5}, {1, 0, 3}, {1, 1, 1}, {2, 31, 5},
    {3, 33, 8}, {31, 257, 17}, {257, 100, 32}, {33, 1000, 64}, {100, 333, 67},
    {65, 200, 100}, {31, 400, 128}, {1000, 5000, 3}, {5, 3000, 1}};
#define N_SHAPES ROWS(shapes)

static struct checkop_segments shape_of(int32_t i, int32_t reduce)
{
    return (struct checkop_segments){.n_segments = shapes[i][0],
        .n_values = shapes[i][1],
        .width = shapes[i][2],
        .reduce = reduce};
}

CHECKOP_TEST(test_segment_reduce_kinds, .rows = N_SHAPES)
{
    for (int32_t reduce = 0; reduce < ETX_N_REDUCES; reduce++)
        for (int32_t ordered = 0; ordered < 2; ordered++) {
            struct checkop_segments shape = shape_of(_i, reduce);
            struct checkop_case one;
            shape.ordered = ordered;
            checkop_segment_reduce(&one, &shape);
            checkop_verify(&one);
            shape.gathered = 1;
            checkop_segment_reduce(&one, &shape);
            checkop_verify(&one);
        }
}

CHECKOP_TEST(test_segment_reduce_weighted, .rows = N_SHAPES)
{
    for (int32_t mask = 0; mask < 8; mask++) {
        struct checkop_segments shape = shape_of(_i, ETX_REDUCE_SUM);
        struct checkop_case one;
        shape.weighted = 1;
        shape.ordered = mask & 1;
        shape.gathered = mask >> 1 & 1;
        shape.add = mask >> 2;
        check.values = mask % 3 ? CHECKOP_NORMAL : CHECKOP_PRODUCTS;
        checkop_segment_reduce(&one, &shape);
        checkop_verify(&one);
    }
}

CHECKOP_TEST(test_segment_reduce_backward_kinds, .rows = N_SHAPES)
{
    for (int32_t reduce = 0; reduce < ETX_N_REDUCES; reduce++)
        for (int32_t mask = 0; mask < 4; mask++) {
            struct checkop_segments shape = shape_of(_i, reduce);
            struct checkop_case one;
            shape.ordered = mask & 1;
            shape.add = mask >> 1;
            checkop_segment_reduce_backward(&one, &shape);
            checkop_verify(&one);
        }
}

CHECKOP_TEST(test_segment_reduce_extremes)
{
    for (int32_t reduce = 0; reduce < ETX_N_REDUCES; reduce++) {
        struct checkop_segments shape = shape_of(5, reduce);
        struct checkop_case one;
        check.values =
            reduce == ETX_REDUCE_MAX ? CHECKOP_EXTREME : CHECKOP_PRODUCTS;
        checkop_segment_reduce(&one, &shape);
        checkop_verify(&one);
        check.values = CHECKOP_NORMAL;
    }
}

/* Segments {1, 3, 8}, {}, {-2}, {-5, -5} of one channel. */
CHECKOP_TEST(test_segment_reduce_known)
{
    static const float x[] = {1.0f, 3.0f, 8.0f, -2.0f, -5.0f, -5.0f};
    static const int64_t offset[] = {0, 3, 3, 4, 6};
    /* sum of squares 26 of {1, 3, 8} over 2 + 1e-6 */
    static const float want[ETX_N_REDUCES][4] = {
        [ETX_REDUCE_SUM] = {12.0f, 0.0f, -2.0f, -10.0f},
        [ETX_REDUCE_MEAN] = {4.0f, 0.0f, -2.0f, -5.0f},
        [ETX_REDUCE_MAX] = {8.0f, 0.0f, -2.0f, -5.0f},
        [ETX_REDUCE_STD] = {3.6055504f, 0.0f, 0.0f, 0.0f}};
    static const float first_of_equals[] = {0.0f, 0.0f, 1.0f, 1.0f, 1.0f, 0.0f};

    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int32_t reduce = 0; reduce < ETX_N_REDUCES; reduce++) {
            const struct etx_op_table *ops = &check.implementation[i].ops;
            static const float ones[] = {1.0f, 1.0f, 1.0f, 1.0f};
            float out[4], d_x[6];
            const struct etx_segment_reduce_args args = {.n_segments = 4,
                .width = 1,
                .reduce = reduce,
                .offset = offset,
                .x = x,
                .out = out};
            const struct etx_segment_reduce_backward_args backward = {
                .forward = args, .d_out = ones, .d_x = d_x};
            ck_assert_ok(ops->segment_reduce(&check.stream[0], &args));
            for (int32_t s = 0; s < 4; s++)
                ck_assert_float_eq_tol(out[s], want[reduce][s], 1e-6f);
            ck_assert_ok(
                ops->segment_reduce_backward(&check.stream[0], &backward));
            for (int32_t v = 0; v < 6 && reduce == ETX_REDUCE_MAX; v++)
                ck_assert_float_eq(d_x[v], first_of_equals[v]);
            for (int32_t v = 3; v < 6 && reduce == ETX_REDUCE_STD; v++)
                ck_assert_float_eq(d_x[v], 0.0f);
        }
}

struct loss {
    struct etx_segment_reduce_args forward;
    const float *d_out;
};

static double objective(void *user)
{
    const struct loss *loss = user;

    if (etx_op_ref.segment_reduce(&check.stream[0], &loss->forward) != ETX_OK)
        return NAN;
    return checkop_dot(loss->forward.out, loss->d_out,
        loss->forward.n_segments * loss->forward.width);
}

/* Values are a shuffled grid of spacing 1/8 and the step is 1/64, so that a
 * maximum stays the maximum and no deviation is 0; differences are good to
 * 1e-7 / h, about 1e-5, and h^4 over the deviation. */
CHECKOP_TEST(test_segment_reduce_slopes, .rows = ETX_N_REDUCES)
{
    enum { N_SEGMENTS = 7, N_VALUES = 40, WIDTH = 3, N = N_VALUES * WIDTH };
    struct checkop_segments shape = {.n_segments = N_SEGMENTS,
        .n_values = N_VALUES,
        .width = WIDTH,
        .reduce = _i,
        .ordered = 1};
    struct checkop_case one;
    float *x = checkop_floats(N);
    const int32_t *permutation = checkop_permutation(N);

    for (int32_t t = 0; t < N; t++)
        x[t] = 0.125f * (float)(permutation[t] - N / 2);
    checkop_segment_reduce_backward(&one, &shape);
    struct etx_segment_reduce_backward_args *args = one.args;
    struct loss loss = {args->forward, args->d_out};
    loss.forward.x = x;
    args->forward.x = x;
    (void)objective(&loss); /* out of these values */
    ck_assert_ok(etx_op_ref.segment_reduce_backward(&check.stream[0], args));
    const struct checkop_slope slope = {
        "d_x", objective, &loss, x, args->d_x, N, N, 0x1p-6f, 3e-4, 3e-4, 0.0};
    checkop_verify_slope(&slope);
}
