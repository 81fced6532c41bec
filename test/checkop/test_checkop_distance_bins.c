/* checkop/test_checkop_distance_bins.c -- pairs by distance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static const struct {
    int32_t n_points, n_dim;
    float radius;
} shapes[] = {{0, 8, 1.0f}, {1, 1, 1.0f}, {2, 3, 2.0f}, {40, 8, 0.9f},
    {500, 12, 1.2f}, {3000, 8, 0.4f}, {1100, 8, 10.0f}};
#define N_SHAPES ROWS(shapes)

CHECKOP_TEST(test_distance_bins_shapes, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_distance_bins(
        &one, shapes[_i].n_points, shapes[_i].n_dim, shapes[_i].radius);
    checkop_verify(&one);
}

/* Bins are of squared distances; what begins at an edge of two is in the upper
 * one, what is at the radius in the last, and pairs beyond in none. */
CHECKOP_TEST(test_distance_bins_by_hand)
{
    static const float points[] = {0.0f, 0.5f, 1.0f, 2.0f, 1.75f};
    static const int64_t expected[] = {1, 2, 1, 2};
    struct checkop_case one;

    checkop_distance_bins(&one, 5, 1, 1.0f);
    struct etx_distance_bins_args *args = one.args;

    args->n_bins = 4;
    one.output[0].n = 4;
    for (int32_t i = 0; i < 5; i++)
        ((float *)(uintptr_t)args->point)[i] = points[i];
    checkop_verify(&one);
    for (int32_t b = 0; b < 4; b++)
        ck_assert_int_eq(args->count[b], expected[b]);
}
