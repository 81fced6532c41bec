/* checkop/test_checkop_hough_votes.c -- edges in one cell of the Hough space.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdlib.h>

/* Run on every instruction set, on one and on four threads. */
static void run_all(const struct etx_hough_votes_args *args, const float *want)
{
    for (int32_t i = 0; i < check.n_implementations; i++)
        for (int32_t pool = 0; pool < CHECKOP_N_POOLS; pool += 2) {
            for (int64_t e = 0; e < args->n_edges; e++)
                args->votes[e] = -1.0f;
            ck_assert_ok(check.implementation[i].ops.hough_votes(
                &check.stream[pool], args));
            for (int64_t e = 0; e < args->n_edges; e++)
                if (args->votes[e] != want[e])
                    ck_abort_msg("%s: edge %d has %g votes, not %g",
                        check.implementation[i].name, (int)e,
                        (double)args->votes[e], (double)want[e]);
        }
}

/* The cell of an edge, from the centre of the circle through the origin and
 * both hits: 2 a.c = a.a and 2 b.c = b.b. */
static void find_cell(int64_t cell[3], const float *s, const float *d)
{
    const double pi = acos(-1.0);
    const double s_square =
        (double)s[0] * (double)s[0] + (double)s[1] * (double)s[1];
    const double d_square =
        (double)d[0] * (double)d[0] + (double)d[1] * (double)d[1];
    const float *a = s_square <= d_square ? s : d;
    const float *b = s_square <= d_square ? d : s;
    const double aa = fmin(s_square, d_square);
    const double bb = fmax(s_square, d_square);
    const double det =
        (double)a[0] * (double)b[1] - (double)a[1] * (double)b[0];
    const double x = (aa * (double)b[1] - bb * (double)a[1]) / (2.0 * det);
    const double y = (bb * (double)a[0] - aa * (double)b[0]) / (2.0 * det);
    const double turn = det > 0.0 ? 1.0 : -1.0;
    const double radius = hypot(x, y);
    const double begin = atan2(-y, -x);
    const double to_a = fmod(
        turn * (atan2((double)a[1] - y, (double)a[0] - x) - begin) + 4.0 * pi,
        2.0 * pi);
    const double to_b = fmod(
        turn * (atan2((double)b[1] - y, (double)b[0] - x) - begin) + 4.0 * pi,
        2.0 * pi);
    const double cot = ((double)b[2] - (double)a[2]) / (radius * (to_b - to_a));

    cell[0] = (int64_t)floor(turn / radius / 4e-4);
    cell[1] = (int64_t)((atan2(-turn * x, turn * y) + pi) / (2.0 * pi) * 128.0);
    cell[2] = (int64_t)floor(asinh(cot) / 0.1);
}

/* Tracks through the origin, a few of them often, and noise: every pair of
 * edges is compared. */
CHECKOP_TEST(test_hough_votes_random)
{
    enum { n_nodes = 300, n_edges = 900 };
    float *position = checkop_uniform(3 * n_nodes, -800.0f, 800.0f);
    int64_t(*cell)[3] = calloc(n_edges, sizeof *cell);
    scoped float *want = etx_test_alloc(n_edges, sizeof *want);
    int32_t *dst = checkop_indices(n_edges, n_nodes);
    struct etx_hough_votes_args args = {.n_edges = n_edges,
        .position = position,
        .src = checkop_indices(n_edges, n_nodes),
        .dst = dst,
        .votes = checkop_buffer(n_edges, sizeof(float))};
    double max = 0.0;

    ck_assert(cell != NULL && want != NULL);
    for (int32_t i = 0; i < n_nodes / 2; i++) {
        const double phi = 0.2 * (double)(i % 5) + 1e-5 * (double)i;
        const double radius = 30.0 + 5.0 * (double)i;
        position[3 * i] = (float)(radius * cos(phi));
        position[3 * i + 1] = (float)(radius * sin(phi));
        position[3 * i + 2] = (float)(radius * (0.25 + 1e-6 * (double)i));
    }
    for (int32_t e = 0; e < n_edges; e++) {
        const int32_t step = args.src[e] < n_nodes / 2 - 5 ? 5 : 1;
        if (e % 2 == 0 || args.src[e] == args.dst[e])
            dst[e] = (args.src[e] + step) % n_nodes;
        find_cell(
            cell[e], position + 3 * args.src[e], position + 3 * args.dst[e]);
    }
    for (int32_t e = 0; e < n_edges; e++) {
        for (int32_t f = 0; f < n_edges; f++)
            want[e] += cell[e][0] == cell[f][0] && cell[e][1] == cell[f][1] &&
                               cell[e][2] == cell[f][2]
                           ? 1.0f
                           : 0.0f;
        max = fmax(max, (double)want[e]);
    }
    ck_assert_double_gt(max, 20.0);
    run_all(&args, want);
    free(cell);
}

/* Nothing; an edge alone; an edge and its reverse; straight and opposite. */
CHECKOP_TEST(test_hough_votes_few)
{
    static const float position[] = {30.0f, 0.0f, 10.0f, 60.0f, 0.0f, 20.0f,
        90.0f, 0.0f, 30.0f, -60.0f, 0.0f, -60.0f, 0.0f, 0.0f, 0.0f};
    static const int32_t src[] = {0, 1, 1, 0, 4};
    static const int32_t dst[] = {1, 0, 2, 3, 4};
    static const float want[] = {3.0f, 3.0f, 3.0f, 1.0f, 1.0f};
    static const float alone[] = {1.0f};
    struct etx_hough_votes_args args = {.position = position,
        .src = src,
        .dst = dst,
        .votes = checkop_buffer(5, sizeof(float))};

    run_all(&args, NULL);
    args.n_edges = 1;
    run_all(&args, alone);
    args.n_edges = 5;
    run_all(&args, want);
}

/* Hits anywhere in the range of floats: every edge has at least itself. */
CHECKOP_TEST(test_hough_votes_extremes)
{
    enum { n_nodes = 90, n_edges = 2000 };

    check.values = CHECKOP_EXTREME;
    const struct etx_hough_votes_args args = {.n_edges = n_edges,
        .position = checkop_floats(3 * n_nodes),
        .src = checkop_indices(n_edges, n_nodes),
        .dst = checkop_indices(n_edges, n_nodes),
        .votes = checkop_buffer(n_edges, sizeof(float))};

    for (int32_t i = 0; i < check.n_implementations; i++) {
        ck_assert_ok(
            check.implementation[i].ops.hough_votes(&check.stream[0], &args));
        for (int64_t e = 0; e < n_edges; e++)
            ck_assert_float_ge(args.votes[e], 1.0f);
    }
}
