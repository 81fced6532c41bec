/* test_helix.c -- helices through hits and residuals of hits, compared with
 * circles by sine and cosine.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/constants.h"
#include "base/random.h"
#include "stage/helix/layer_crossing.h"

#include <math.h>

#define N_TRIALS 500

/* A particle from near the beam line. */
struct path {
    double radius; /* mm, of its circle; positive turns left */
    double phi;    /* rad, of its direction at the start */
    double x, y, z, slope;
};

static double between(struct etx_random *random, double low, double high)
{
    return low + (high - low) * (double)etx_random_uniform(random);
}

static struct path draw_path(struct etx_random *random)
{
    const double side = etx_random_below(random, 2) == 0 ? -1.0 : 1.0;
    const double forward = etx_random_below(random, 2) == 0 ? -1.0 : 1.0;

    return (struct path){.radius = side * between(random, 400.0, 5000.0),
        .phi = between(random, -ETX_PI, ETX_PI),
        .x = between(random, -5.0, 5.0),
        .y = between(random, -5.0, 5.0),
        .z = between(random, -50.0, 50.0),
        .slope = forward * between(random, 0.3, 3.0)};
}

static void point_at(float out[3], const struct path *path, double s)
{
    const double turned = path->phi + s / path->radius;

    out[0] = (float)(path->x + path->radius * (sin(turned) - sin(path->phi)));
    out[1] = (float)(path->y - path->radius * (cos(turned) - cos(path->phi)));
    out[2] = (float)(path->z + path->slope * s);
}

/* The helix of a path after a length s. */
static struct etx_track_helix helix_of(const struct path *path, double s)
{
    const double turned = path->phi + s / path->radius;
    float at[3];

    point_at(at, path, s);
    return (struct etx_track_helix){.x = (double)at[0],
        .y = (double)at[1],
        .z = (double)at[2],
        .tangent_x = cos(turned),
        .tangent_y = sin(turned),
        .curvature = 1.0 / path->radius,
        .slope = path->slope};
}

ETX_TEST(test_helix_through_hits, .rows = 3)
{
    struct etx_random random;

    etx_random_init(&random, 31, (uint32_t)_i, 0);
    for (int32_t trial = 0; trial < N_TRIALS; trial++) {
        const struct path path = draw_path(&random);
        const double s[3] = {between(&random, 30.0, 60.0),
            between(&random, 100.0, 200.0), between(&random, 250.0, 350.0)};
        const struct etx_track_helix expected = helix_of(&path, s[_i]);
        struct etx_track_helix helix;
        float hit[3][3];

        for (int32_t k = 0; k < 3; k++)
            point_at(hit[k], &path, s[k]);
        ck_assert(etx_track_helix_at(
            &helix, (const float *const[]){hit[0], hit[1], hit[2]}, _i, 1.0));
        ck_assert(helix.x == expected.x && helix.y == expected.y &&
                  helix.z == expected.z);
        ck_assert_double_eq_tol(helix.tangent_x, expected.tangent_x, 1e-5);
        ck_assert_double_eq_tol(helix.tangent_y, expected.tangent_y, 1e-5);
        ck_assert_double_eq_tol(helix.curvature, expected.curvature, 1e-7);
        ck_assert_double_eq_tol(helix.slope, expected.slope, 1e-5);
    }
}

/* Half of an arc with more than this sine is refused. */
ETX_TEST(test_helix_turns_too_far)
{
    const struct path path = {.radius = 100.0, .slope = 1.0};
    struct etx_track_helix helix;
    float hit[3][3];

    for (int32_t k = 0; k < 3; k++)
        point_at(hit[k], &path, k * 2.0 * 100.0 * asin(0.95));
    const float *const points[3] = {hit[0], hit[1], hit[2]};
    ck_assert(etx_track_helix_at(&helix, points, 2, 1.0));
    ck_assert_double_eq_tol(helix.slope, 1.0, 1e-5);
    ck_assert(!etx_track_helix_at(&helix, points, 2, 0.94));
    ck_assert(!etx_track_helix_through(&helix, hit[0], hit[1], hit[2]));
    ck_assert(!etx_track_helix_through(&helix, hit[0], hit[0], hit[2]));
}

/* A hit turned about the beam line from where the helix comes, and moved along
 * z (barrel) or the radius (disc). */
ETX_TEST(test_helix_residuals, .rows = 2)
{
    const bool is_barrel = _i == 0;
    struct etx_random random;
    int32_t n_opposite = 0;

    etx_random_init(&random, 32, (uint32_t)_i, 0);
    for (int32_t trial = 0; trial < N_TRIALS; trial++) {
        const struct path path = draw_path(&random);
        const double begin = between(&random, 30.0, 100.0);
        const double s = between(&random, 50.0, 250.0);
        const struct etx_track_helix helix = helix_of(&path, begin);
        const double turn = trial % 4 == 0 ? between(&random, -3.0, 3.0)
                                           : between(&random, -0.1, 0.1);
        const double along = between(&random, -4.0, 4.0);
        struct etx_residual residual;
        float at[3];

        point_at(at, &path, begin + s);
        const double r = hypot((double)at[0], (double)at[1]);
        const double azimuth = atan2((double)at[1], (double)at[0]) + turn;
        const double radius = is_barrel ? r : r + along;
        const float hit[3] = {(float)(radius * cos(azimuth)),
            (float)(radius * sin(azimuth)),
            is_barrel ? at[2] + (float)along : at[2]};
        const bool is_opposite = fabs(turn) > 0.5 * ETX_PI;
        const double side = radius * fabs(sin(turn));
        const double transverse =
            copysign(is_opposite ? 2.0 * r - side : side, turn);

        ck_assert(etx_helix_residual(
            &residual, &helix, helix.curvature, hit, is_barrel));
        ck_assert_double_eq_tol(residual.s, s, 1e-3);
        ck_assert_double_eq_tol(residual.transverse, transverse, 2e-3);
        ck_assert_double_eq_tol(residual.longitudinal, along, 5e-3);
        ck_assert_int_eq(residual.is_opposite, is_opposite);
        n_opposite += is_opposite;
        const struct etx_completion_window window = {2.0f, 3.0f};
        const double distance = etx_residual_distance(&residual, &window);
        if (is_opposite)
            ck_assert(isinf(distance));
        else
            ck_assert_double_eq_tol(distance,
                pow(residual.transverse / 2.0, 2.0) +
                    pow(residual.longitudinal / 3.0, 2.0),
                1e-9);
    }
    ck_assert_int_gt(n_opposite, N_TRIALS / 20);
}

/* A circle that ends before a radius, a line that never comes to z. */
ETX_TEST(test_helix_does_not_come)
{
    const struct path path = {.radius = 100.0, .x = 1.0, .slope = 1.0};
    struct etx_track_helix helix = helix_of(&path, 10.0);
    struct etx_residual residual;

    ck_assert(!etx_helix_residual(&residual, &helix, helix.curvature,
        (const float[]){0.0f, 250.0f, 0.0f}, true));
    helix.slope = 0.0;
    ck_assert(!etx_helix_residual(&residual, &helix, helix.curvature,
        (const float[]){0.0f, 50.0f, 400.0f}, false));
}

/* Windows up to 25 mm across and 50 mm along a layer are used, wider ones not.
 */
ETX_TEST(test_helix_widest_windows)
{
    static const struct etx_completion_window used = {
        .transverse = 25.0f, .longitudinal = 50.0f};
    struct etx_completion_window window = used;

    ck_assert(etx_window_is_known(&window));
    window.transverse = nextafterf(25.0f, INFINITY);
    ck_assert(!etx_window_is_known(&window));
    window = used;
    window.longitudinal = nextafterf(50.0f, INFINITY);
    ck_assert(!etx_window_is_known(&window));
    window = used;
    window.transverse = 0.0f;
    ck_assert(!etx_window_is_known(&window));
}
