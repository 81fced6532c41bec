/* checkop/test_checkop_distance_bins.c -- pairs by distance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static const int32_t shapes[][3] = {
    {1, 8, 0}, {1, 1, 3}, {10, 3, 1}, {40, 8, 33}, {500, 12, 5000}};
#define N_SHAPES ROWS(shapes)

/* Every pair is counted once. */
CHECKOP_TEST(test_distance_bins_shapes, .rows = N_SHAPES)
{
    struct checkop_case one;
    int64_t n = 0;

    checkop_distance_bins(&one, shapes[_i][0], shapes[_i][1], shapes[_i][2]);
    checkop_verify(&one);
    const struct etx_distance_bins_args *args = one.args;

    for (int32_t b = 0; b < args->n_bins; b++)
        n += args->count[b];
    ck_assert_int_eq(n, args->n_pairs);
}

/* Bins are of squared distances; what begins at an edge of two is in the upper
 * one, what is at the radius or beyond in the last. */
CHECKOP_TEST(test_distance_bins_by_hand)
{
    static const float points[] = {0.0f, 0.5f, 1.0f, 2.0f, 1.75f};
    static const int32_t ends[][2] = {
        {0, 0}, {0, 1}, {1, 2}, {3, 4}, {0, 2}, {0, 3}, {4, 1}};
    static const int64_t expected[] = {2, 2, 0, 3};
    struct checkop_case one;

    checkop_distance_bins(&one, 5, 1, 7);
    struct etx_distance_bins_args *args = one.args;

    args->radius = 1.0f;
    args->n_bins = 4;
    one.output[0].n = 4;
    for (int32_t i = 0; i < 5; i++)
        ((float *)(uintptr_t)args->point)[i] = points[i];
    for (int32_t e = 0; e < 7; e++) {
        ((int32_t *)(uintptr_t)args->src)[e] = ends[e][0];
        ((int32_t *)(uintptr_t)args->dst)[e] = ends[e][1];
    }
    checkop_verify(&one);
    for (int32_t b = 0; b < 4; b++)
        ck_assert_int_eq(args->count[b], expected[b]);
}
