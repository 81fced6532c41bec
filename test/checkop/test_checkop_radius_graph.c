/* checkop/test_checkop_radius_graph.c -- exact neighbours.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "base/heap.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------ a second way of saying -- */

struct pair {
    double s; /* squared distance */
    int32_t index;
};

static int by_distance(const void *a, const void *b)
{
    const struct pair *one = a, *two = b;

    if (one->s < two->s)
        return -1;
    if (one->s > two->s)
        return 1;
    return one->index - two->index;
}

static int is_before(
    const struct etx_radius_graph_args *args, int32_t i, int32_t j)
{
    if (args->key != NULL && args->key[i] < args->key[j])
        return 1;
    if (args->key != NULL && args->key[i] > args->key[j])
        return 0;
    return i < j;
}

/* Squared distance as a polynomial rather than by differences, for small
 * integer coordinates where both are exact: |a|^2 - 2 a b + |b|^2. */
static double integer_distance(
    const struct etx_radius_graph_args *args, int32_t i, int32_t j)
{
    long sum = 0;

    for (int32_t k = 0; k < args->n_dim; k++) {
        const long a = lroundf(args->point[i * args->n_dim + k]);
        const long b = lroundf(args->point[j * args->n_dim + k]);
        sum += a * a - 2 * a * b + b * b;
    }
    return (double)sum;
}

/* The predicate of op.h, last coordinate of the recursion first. */
static float fused_distance(
    const struct etx_radius_graph_args *args, int32_t i, int32_t j, int32_t k)
{
    const float d =
        args->point[i * args->n_dim + k] - args->point[j * args->n_dim + k];

    if (k == 0)
        return d * d;
    return fmaf(d, d, fused_distance(args, i, j, k - 1));
}

/* matrix [n, n]: 1 where the edge row -> column is wanted. */
static unsigned char *wanted_edges(
    const struct etx_radius_graph_args *args, int32_t is_integer)
{
    const int32_t n = (int32_t)args->n_points;
    unsigned char *matrix = checkop_buffer((int64_t)n * n, 1);
    struct pair *row = checkop_buffer(n, sizeof *row);
    const float limit = args->radius * args->radius;

    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++) {
            row[j].index = j;
            row[j].s = is_integer ? integer_distance(args, i, j)
                                  : (double)fused_distance(
                                        args, i, j, args->n_dim - 1);
        }
        row[i].s = HUGE_VAL;
        qsort(row, (size_t)n, sizeof *row, by_distance);
        for (int32_t t = 0; t < n; t++) {
            const int32_t j = row[t].index;
            if (args->max_neighbours > 0 && t >= args->max_neighbours)
                break;
            if (j != i && row[t].s <= (double)limit)
                matrix[(int64_t)i * n + j] =
                    args->key == NULL && args->both
                        ? 1
                        : (unsigned char)is_before(args, i, j);
        }
    }
    return matrix;
}

/* The edges of the case, from the matrix, column by column. */
static void compare_edges(
    const struct checkop_case *one, const unsigned char *matrix)
{
    const struct etx_radius_graph_args *args = one->args;
    const struct checkop_edges *edges = one->more;
    const int32_t n = (int32_t)args->n_points;
    int64_t at = 0;

    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < n; i++) {
            if (!matrix[(int64_t)i * n + j])
                continue;
            if (at >= edges->n_edges || edges->src[at] != i ||
                edges->dst[at] != j)
                ck_abort_msg("%s: no edge %d -> %d", one->label, i, j);
            at++;
        }
    ck_assert_int_eq(at, edges->n_edges);
}

/* ----------------------------------------------------------------- tests -- */

struct shape {
    int32_t n_points, n_dim;
    float radius;
    int32_t max_neighbours, both, with_key;
};

static const struct shape shapes[] = {{0, 3, 1.0f, 0, 0, 0},
    {1, 3, 1.0f, 0, 1, 0}, {2, 3, 9.0f, 0, 0, 0}, {2, 1, 9.0f, 1, 1, 1},
    {31, 2, 0.5f, 0, 0, 0}, {33, 8, 0.7f, 0, 1, 0}, {257, 1, 0.01f, 0, 0, 1},
    {257, 8, 0.6f, 0, 0, 0}, {300, 3, 0.3f, 4, 0, 0}, {300, 3, 0.3f, 4, 1, 0},
    {300, 3, 0.3f, 4, 0, 1}, {333, 12, 1.0f, 0, 0, 1}, {200, 17, 1.5f, 0, 1, 0},
    {150, 8, FLT_MAX, 7, 1, 0}, {150, 8, FLT_MAX, 1000, 0, 0},
    {100, 4, 100.0f, 0, 0, 0}, {1000, 8, 0.5f, 0, 0, 0},
    {1000, 8, 0.6f, 10, 0, 1}, {1000, 8, 0.6f, 10, 1, 1},
    {700, 9, 0.8f, 0, 1, 0}, {700, 9, 0.8f, 0, 1, 1}, {500, 7, 0.8f, 0, 0, 1},
    {300, 33, 2.0f, 0, 0, 0}, {300, 40, 2.0f, 5, 1, 0}, {64, 8, 5.0f, 0, 1, 0},
    {65, 8, 5.0f, 0, 0, 1}, {1025, 2, 0.1f, 3, 1, 0}, {300, 3, 90.0f, 0, 1, 0}};
#define N_SHAPES ROWS(shapes)

CHECKOP_TEST(test_radius_graph_shapes, .rows = N_SHAPES)
{
    const struct shape *s = &shapes[_i];
    struct checkop_case one;

    checkop_radius_graph(&one, s->n_points, s->n_dim, s->radius,
        s->max_neighbours, s->both, s->with_key);
    checkop_verify(&one);
    struct etx_radius_graph_args *args = one.args;
    if (args->radius == FLT_MAX)
        args->radius = 1e10f; /* its square fits */
    compare_edges(&one, wanted_edges(args, 0));
}

/* Integer points: most distances come in ties, many exactly at the radius,
 * and points coincide. */
CHECKOP_TEST(test_radius_graph_ties, .rows = 8)
{
    const int32_t n_dim = 1 + _i % 4;

    for (int32_t k = 0; k < 4; k++)
        for (int32_t both = 0; both < 2; both++) {
            struct checkop_case one;
            checkop_radius_graph(&one, 240, n_dim, _i < 4 ? 5.0f : 1.0f,
                k == 0 ? 0 : 1 << k, both, k % 2);
            const struct etx_radius_graph_args *args = one.args;
            float *point = checkop_uniform(240 * n_dim, -9.4f, 9.4f);
            for (int64_t t = 0; t < 240 * n_dim; t++)
                point[t] = roundf(point[t]);
            ((struct etx_radius_graph_args *)one.args)->point = point;
            checkop_verify(&one);
            compare_edges(&one, wanted_edges(args, 1));
        }
}

/* All points on one spot, all keys equal. */
CHECKOP_TEST(test_radius_graph_coincident)
{
    for (int32_t k = 0; k < 3; k++) {
        struct checkop_case one;
        checkop_radius_graph(&one, 130, 8, 1e-6f, k, k == 1, k == 2);
        struct etx_radius_graph_args *args = one.args;
        float *point = checkop_buffer(130 * 8, sizeof *point);
        for (int64_t t = 0; t < 130 * 8; t++)
            point[t] = 3.25f;
        args->point = point;
        if (args->key != NULL)
            args->key = point;
        checkop_verify(&one);
        compare_edges(&one, wanted_edges(args, 0));
    }
}

/* Points far out, on a line, and with huge, tiny and denormal coordinates:
 * pruning by a rotated copy must not lose an edge. */
CHECKOP_TEST(test_radius_graph_lopsided, .rows = 5)
{
    static const float offset[] = {0.0f, 1e4f, -1e6f, 0.0f, 0.0f};
    static const float spread[] = {1e-20f, 1.0f, 0.5f, 1e3f, 1e15f};
    static const float radius[] = {1e-20f, 0.2f, 0.5f, 500.0f, 1e15f};
    struct checkop_case one;

    checkop_radius_graph(&one, 400, 5, radius[_i], 0, 0, 0);
    struct etx_radius_graph_args *args = one.args;
    float *point = checkop_floats(400 * 5);
    for (int64_t t = 0; t < 400 * 5; t++)
        point[t] = _i == 3 && t % 5 != 0 ? point[t - t % 5] * 2.0f
                                         : offset[_i] + spread[_i] * point[t];
    args->point = point;
    checkop_verify(&one);
    compare_edges(&one, wanted_edges(args, 0));
}

/* Enough points for several levels of boxes, blocks and bins of any
 * implementation. */
CHECKOP_TEST(test_radius_graph_larger, .is_large = 1, .rows = 6, .n_quick = 2)
{
    static const struct shape larger[] = {{3001, 8, 0.45f, 0, 0, 0},
        {3001, 8, 0.45f, 6, 0, 1}, {9000, 8, 0.3f, 0, 1, 0},
        {9000, 3, 0.02f, 0, 0, 1}, {9000, 8, 0.5f, 4, 1, 0},
        {11000, 5, 0.05f, 0, 0, 1}};
    const struct shape *s = &larger[_i];
    struct checkop_case one;

    checkop_radius_graph(&one, s->n_points, s->n_dim, s->radius,
        s->max_neighbours, s->both, s->with_key);
    checkop_verify(&one);
}

/* One edge more than the bound is an error that names it; none is made. */
CHECKOP_TEST(test_radius_graph_limit)
{
    struct checkop_case one;

    checkop_radius_graph(&one, 300, 3, 0.5f, 0, 0, 0);
    checkop_run_reference(&one);
    struct etx_radius_graph_args *args = one.args;
    args->max_edges = ((struct checkop_edges *)one.more)->n_edges;
    checkop_verify(&one);
    args->max_edges--;
    checkop_verify_failure(&one, ETX_ERR_LIMIT);
    for (int32_t i = 0; i < check.n_implementations; i++) {
        struct etx_edge_list untouched = {-7, NULL, NULL};
        args->out = &untouched;
        ck_assert_status(
            check.implementation[i].ops.radius_graph(&check.stream[1], args),
            ETX_ERR_LIMIT);
        ck_assert_int_eq(untouched.n_edges, -7);
        ck_assert_ptr_null(untouched.src);
        ck_assert_ptr_nonnull(strstr(etx_last_error(), "max_edges"));
    }
}

CHECKOP_TEST(test_radius_graph_interrupted)
{
    struct checkop_case one;

    checkop_radius_graph(&one, 2000, 3, 0.1f, 0, 0, 0);
    checkop_verify_interrupted(&one);
}

/* Answers no so often, then yes. */
static int32_t after_some(void *user)
{
    int32_t *left = user;

    return --*left < 0;
}

/* A search is long: cancel is polled inside it, on the thread of the call. */
CHECKOP_TEST(test_radius_graph_cancelled_inside, .rows = 2)
{
    static int32_t left; /* the stream keeps its address */
    const int32_t often = 1 << 20;
    struct checkop_case one;

    checkop_radius_graph(&one, 9000, 3, 0.05f, _i ? 4 : 0, 0, 0);
    check.stream[0].cancel = after_some;
    check.stream[0].cancel_user = &left;
    for (int32_t i = 1; i < check.n_implementations; i++) {
        struct etx_radius_graph_args *args = one.args;
        struct etx_edge_list list = {0, NULL, NULL};
        args->out = &list;
        left = often;
        ck_assert_ok(
            check.implementation[i].ops.radius_graph(&check.stream[0], args));
        ck_assert_int_gt(often - left, 20);
        etx_free(list.src);
        etx_free(list.dst);
        left = (often - left) / 2;
        ck_assert_status(
            check.implementation[i].ops.radius_graph(&check.stream[0], args),
            ETX_ERR_CANCELLED);
    }
}
