/* test_train_hard_negatives.c -- the pairs near some hits, against sorting all.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/hard_negatives.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

#define N_POINTS  200
#define N_DIM     3
#define N_QUERIES 40

static float point[N_POINTS * N_DIM];
static int32_t particle[N_POINTS];
static int32_t query[N_QUERIES];

/* Points on a grid, so that many distances are equal. */
static void fill(void)
{
    struct etx_random random;

    etx_random_init(&random, 1, 2, 3);
    for (int k = 0; k < N_POINTS * N_DIM; k++)
        point[k] = 0.125f * (float)etx_random_below(&random, 8);
    for (int i = 0; i < N_POINTS; i++)
        particle[i] = (int32_t)etx_random_below(&random, 20) - 1;
    for (int q = 0; q < N_QUERIES; q++)
        query[q] = (int32_t)etx_random_below(&random, N_POINTS);
}

static struct etx_hard_negatives_args make_args(
    int32_t n_nearest, int32_t n_other)
{
    return (struct etx_hard_negatives_args){.n_points = N_POINTS,
        .n_dim = N_DIM,
        .point = point,
        .particle = particle,
        .n_queries = N_QUERIES,
        .query = query,
        .radius = 0.5f,
        .n_nearest = n_nearest,
        .n_other = n_other,
        .seed = 7};
}

static float distance(int32_t i, int32_t j)
{
    float sum = 0.0f;

    for (int k = 0; k < N_DIM; k++) {
        const float d = point[i * N_DIM + k] - point[j * N_DIM + k];
        sum += d * d;
    }
    return sum;
}

static int is_candidate(int32_t i, int32_t j)
{
    return i != j && distance(i, j) <= 0.25f &&
           (particle[i] < 0 || particle[i] != particle[j]);
}

/* How many candidates of i come before j. */
static int rank_of(int32_t i, int32_t j)
{
    int rank = 0;

    for (int32_t k = 0; k < N_POINTS; k++)
        rank += is_candidate(i, k) &&
                (distance(i, k) < distance(i, j) ||
                    (distance(i, k) == distance(i, j) && k < j));
    return rank;
}

static int count_candidates(int32_t i)
{
    int n = 0;

    for (int32_t k = 0; k < N_POINTS; k++)
        n += is_candidate(i, k);
    return n;
}

ETX_TEST(test_train_hard_negatives_are_the_nearest_and_others, .rows = 4)
{
    static const int32_t nearest[] = {0, 1, 5, 300};
    static const int32_t other[] = {0, 4, 0, 4};
    const struct etx_hard_negatives_args args =
        make_args(nearest[_i], other[_i]);
    scoped_context *context = etx_test_context_with(1, 0, NULL, NULL);
    int32_t *a;
    int32_t *b;
    int64_t n;
    int64_t expected = 0;

    fill();
    ck_assert_ok(etx_hard_negatives(&a, &b, &n, context->stream, &args));
    for (int q = 0; q < N_QUERIES; q++) {
        const int max = (int)(args.n_nearest + args.n_other);
        const int all = count_candidates(query[q]);
        const int wanted = all < max ? all : max;
        char seen[N_POINTS] = {0};

        for (int k = 0; k < wanted; k++) {
            const int64_t at = expected + k;

            ck_assert_int_lt(at, n);
            ck_assert_int_eq(a[at], query[q]);
            ck_assert(is_candidate(query[q], b[at]));
            ck_assert(!seen[b[at]]);
            seen[b[at]] = 1;
        }
        for (int32_t j = 0; j < N_POINTS; j++)
            if (is_candidate(query[q], j) &&
                rank_of(query[q], j) < args.n_nearest)
                ck_assert(seen[j]);
        expected += wanted;
    }
    ck_assert_int_eq(n, expected);
}

/* Low purity: others are drawn from the nearest 12 alone. */
ETX_TEST(test_train_hard_negatives_pool, .rows = 2)
{
    struct etx_hard_negatives_args args = make_args(0, 6);
    scoped_context *context = etx_test_context_with(1, 0, NULL, NULL);
    int n_far = 0;
    int32_t *a;
    int32_t *b;
    int64_t n;

    fill();
    args.n_pool = _i == 0 ? 12 : 0;
    ck_assert_ok(etx_hard_negatives(&a, &b, &n, context->stream, &args));
    for (int64_t p = 0; p < n; p++) {
        ck_assert(is_candidate(a[p], b[p]));
        n_far += rank_of(a[p], b[p]) >= 12;
    }
    ck_assert_int_eq(n_far > 0, _i == 1);
}
