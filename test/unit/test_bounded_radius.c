/* test_bounded_radius.c -- the radius that a bound on candidate edges allows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/random.h"
#include "support.h"

#define N_DIM  3
#define RADIUS 0.2f

struct cloud {
    etx_context *context;
    float *point, *position; /* of the hit, at first the same */
    struct etx_neighbours neighbours;
};

/* n points, evenly in a cube of side 1. */
static struct cloud make_cloud(int64_t n, int32_t n_threads)
{
    struct cloud cloud = {
        .context = etx_test_context_with(n_threads, 0, NULL, NULL)};
    struct etx_random random;

    cloud.point = etx_test_alloc(n * N_DIM, sizeof *cloud.point);
    cloud.position = etx_test_alloc(n * N_DIM, sizeof *cloud.position);
    etx_random_init(&random, 5, 0, 0);
    for (int64_t k = 0; k < n * N_DIM; k++)
        cloud.point[k] = cloud.position[k] = (float)etx_random_uniform(&random);
    cloud.neighbours = (struct etx_neighbours){.n_points = n,
        .n_dim = N_DIM,
        .orientation = ETX_ORIENT_INDEX,
        .radius = RADIUS,
        .point = cloud.point,
        .position = cloud.position,
        .max_edges = INT32_MAX};
    return cloud;
}

static void free_cloud(struct cloud *cloud)
{
    etx_context_free(cloud->context);
    free(cloud->point);
    free(cloud->position);
}

#define scoped_cloud SCOPED(free_cloud) struct cloud

static float find_radius(struct cloud *cloud, float max_edges_per_hit)
{
    float radius = 0.0f;

    ck_assert_ok(etx_stage_bound_radius(
        &radius, cloud->context, &cloud->neighbours, max_edges_per_hit));
    return radius;
}

/* Edges per point at this radius. */
static double count_edges(struct cloud *cloud, float radius)
{
    struct etx_neighbours neighbours = cloud->neighbours;
    scoped_graph *graph = NULL;

    neighbours.radius = radius;
    ck_assert_ok(etx_stage_neighbours(&graph, cloud->context, &neighbours));
    return (double)etx_graph_n_edges(graph) / (double)neighbours.n_points;
}

ETX_TEST(test_bounded_radius_meets_the_bound, .rows = 2)
{
    static const int64_t sizes[] = {8000, 60000};
    static const float whole[] = {RADIUS, RADIUS / 3.0f};
    scoped_cloud cloud = make_cloud(sizes[_i], 2);
    const double all = count_edges(&cloud, whole[_i]);

    cloud.neighbours.radius = whole[_i];
    for (double share = 0.9; share > 0.1; share -= 0.2) {
        const float radius = find_radius(&cloud, (float)(share * all));

        ck_assert_float_lt(radius, whole[_i]);
        ck_assert_double_eq_tol(
            count_edges(&cloud, radius), share * all, 0.05 * share * all);
    }
}

ETX_TEST(test_bounded_radius_leaves_what_fits)
{
    scoped_cloud cloud = make_cloud(8000, 1);
    const double all = count_edges(&cloud, RADIUS);

    ck_assert_float_eq(find_radius(&cloud, (float)(1.1 * all)), RADIUS);
    ck_assert_float_eq(find_radius(&cloud, 0.0f), RADIUS);
    cloud.neighbours.n_points = ETX_MIN_BOUNDED_POINTS - 1;
    ck_assert_float_eq(find_radius(&cloud, 1e-3f), RADIUS);
    cloud.neighbours.n_points = ETX_MIN_BOUNDED_POINTS;
    ck_assert_float_lt(find_radius(&cloud, 1e-3f), RADIUS);
}

ETX_TEST(test_bounded_radius_same_for_any_threads)
{
    scoped_cloud one = make_cloud(9000, 1);
    scoped_cloud four = make_cloud(9000, 4);

    ck_assert_float_eq(find_radius(&one, 20.0f), find_radius(&four, 20.0f));
}

/* Pairs of neighbours, which have rows that follow each other. */
static void make_pairs(struct cloud *cloud)
{
    for (int64_t i = 1; i < cloud->neighbours.n_points; i += 2)
        for (int64_t k = 0; k < N_DIM; k++) {
            const float near = cloud->point[(i - 1) * N_DIM + k] + 1e-4f;

            cloud->point[i * N_DIM + k] = near;
            cloud->position[i * N_DIM + k] = near;
        }
}

static void turn_rows(float *rows, int64_t n)
{
    for (int64_t i = 0; i < n / 2; i++)
        for (int64_t k = 0; k < N_DIM; k++) {
            const float other = rows[(n - 1 - i) * N_DIM + k];

            rows[(n - 1 - i) * N_DIM + k] = rows[i * N_DIM + k];
            rows[i * N_DIM + k] = other;
        }
}

ETX_TEST(test_bounded_radius_same_in_any_order)
{
    const int64_t n = 9001;
    scoped_cloud cloud = make_cloud(n, 1);
    float radius;

    make_pairs(&cloud);
    radius = find_radius(&cloud, 3.0f);
    ck_assert_double_eq_tol(count_edges(&cloud, radius), 3.0, 0.3);
    turn_rows(cloud.point, n);
    turn_rows(cloud.position, n);
    ck_assert_float_eq(find_radius(&cloud, 3.0f), radius);
}

ETX_TEST(test_bounded_radius_both_directions)
{
    scoped_cloud cloud = make_cloud(9000, 1);

    cloud.neighbours.orientation = ETX_ORIENT_BOTH;
    ck_assert_double_eq_tol(
        count_edges(&cloud, find_radius(&cloud, 20.0f)), 20.0, 1.0);
}

ETX_TEST(test_bounded_radius_keeps_the_memory_limit)
{
    scoped_cloud cloud = make_cloud(9000, 1);
    float radius = 0.0f;

    cloud.neighbours.max_edges = 1000;
    ck_assert_fails(etx_stage_bound_radius(
                        &radius, cloud.context, &cloud.neighbours, 20.0f),
        ETX_ERR_LIMIT, "max_edges = 1000");
}

/* Too many pairs of equal points are refused before they fill the memory. */
ETX_TEST(test_bounded_radius_free_edges)
{
    const int64_t n = 12000;
    scoped_cloud cloud = make_cloud(n, 1);
    float radius = 0.0f;

    for (int64_t k = 0; k < n * N_DIM; k++)
        cloud.point[k] = 0.5f;
    for (int64_t k = 0; k < 3 * n; k++)
        cloud.position[k] = 0.0f; /* which is in the sample */
    etx_heap_reset_peak();
    const int64_t before = etx_heap_peak();
    ck_assert_fails(etx_stage_bound_radius(
                        &radius, cloud.context, &cloud.neighbours, 20.0f),
        ETX_ERR_LIMIT, "16777216");
    ck_assert_int_lt(etx_heap_peak() - before, 300 << 20);
}

/* No radius can part them; what is left is still one. */
ETX_TEST(test_bounded_radius_equal_points)
{
    scoped_cloud cloud = make_cloud(2000, 1);

    for (int64_t k = 0; k < 2000 * N_DIM; k++)
        cloud.point[k] = 0.5f;
    ck_assert_float_gt(find_radius(&cloud, 1.0f), 0.0f);
}
