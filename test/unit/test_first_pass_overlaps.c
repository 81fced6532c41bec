/* test_first_pass_overlaps.c -- hits where modules of a layer overlap, compared
 * with a search through all hits on circles with trigonometry.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/constants.h"
#include "base/random.h"
#include "data/event.h"
#include "stage/first_pass/search.h"

#include <math.h>

#define N_LAYERS     4
#define N_AROUND     8 /* hits of a layer near the track */
#define N_HITS       (N_LAYERS * (1 + N_AROUND))
#define N_MODULES    4
#define N_TRIALS     200
#define THICKNESS    2.0 /* mm, of a layer to each side */
#define MAX_DISTANCE 25.0f
#define TRANSVERSE   0.8f /* mm, window */
#define LONGITUDINAL 1.5f
#define MAX_ADDED    (2 * N_LAYERS)
#define MAX_BACK     12.0 /* mm, along the track */

/* A particle from the beam line, and the hits around it; hit l of the first
 * N_LAYERS is its own on layer l. */
struct trial {
    bool is_barrel;
    double radius, phi, slope, z; /* mm, rad */
    float position[3 * N_HITS];
    int32_t layer[N_HITS], module[N_HITS];
};

static const double barrel_radius[N_LAYERS] = {110, 170, 250, 350};
static const double disc_z[N_LAYERS] = {620, 780, 960, 1150};

/* The particle after a path s in the transverse plane. */
static void point_at(double out[3], const struct trial *trial, double s)
{
    const double half = s / (2.0 * trial->radius);
    const double chord = 2.0 * trial->radius * sin(half);

    out[0] = chord * cos(trial->phi + half);
    out[1] = chord * sin(trial->phi + half);
    out[2] = trial->z + trial->slope * s;
}

static double path_to(const struct trial *trial, int32_t layer, double deeper)
{
    if (!trial->is_barrel)
        return (copysign(disc_z[layer] + deeper, trial->slope) - trial->z) /
               trial->slope;
    return 2.0 * trial->radius *
           asin((barrel_radius[layer] + deeper) / (2.0 * fabs(trial->radius)));
}

/* A hit of the layer, up to this far from the particle, in windows. */
static void add_hit(struct trial *trial, int64_t i, int32_t layer, double far,
    struct etx_random *random)
{
    double u[3], at[3];

    for (int32_t c = 0; c < 3; c++)
        u[c] = 2.0 * (double)etx_random_uniform(random) - 1.0;
    point_at(at, trial, fabs(path_to(trial, layer, THICKNESS * u[0])));
    const double r = hypot(at[0], at[1]);
    const double along = far * u[1] * (double)LONGITUDINAL;
    const double turn = far * u[2] * (double)TRANSVERSE / r;
    const double scale = trial->is_barrel ? 1.0 : (r + along) / r;

    trial->position[3 * i] =
        (float)(scale * (at[0] * cos(turn) - at[1] * sin(turn)));
    trial->position[3 * i + 1] =
        (float)(scale * (at[1] * cos(turn) + at[0] * sin(turn)));
    trial->position[3 * i + 2] =
        (float)(trial->is_barrel ? at[2] + along : at[2]);
    trial->layer[i] = layer;
    trial->module[i] = (int32_t)etx_random_below(random, N_MODULES);
}

static void make_trial(
    struct trial *trial, bool is_barrel, struct etx_random *random)
{
    const double side = etx_random_below(random, 2) == 0 ? -1.0 : 1.0;
    const double forward = etx_random_below(random, 2) == 0 ? -1.0 : 1.0;
    const double steep = (double)etx_random_uniform(random);
    int64_t i = N_LAYERS;

    *trial = (struct trial){.is_barrel = is_barrel,
        .radius = side * (700.0 + 3000.0 * (double)etx_random_uniform(random)),
        .phi = 2.0 * ETX_PI * (double)etx_random_uniform(random),
        .slope = forward * (is_barrel ? steep : 2.0 + 2.0 * steep),
        .z = 20.0 * (double)etx_random_normal(random)};
    for (int32_t l = 0; l < N_LAYERS; l++) {
        add_hit(trial, l, l, 0.2, random);
        for (int32_t n = 0; n < N_AROUND; n++)
            add_hit(trial, i++, l, n % 2 == 0 ? 9.0 : 4.0, random);
    }
}

/* ----------------------------------------------------------- brute force -- */

/* The circle through hit k and two of its neighbours, from hit k on. */
struct circle {
    double centre[2], radius, turn; /* turn: 1 to the left, -1 */
    double at[3], slope;
};

static struct circle circle_at(const float *position, int32_t k)
{
    const int32_t middle = k == 0 ? 1 : k == N_LAYERS - 1 ? k - 1 : k;
    const float *const p = position + 3 * (middle - 1);
    const float *const own = position + 3 * k;
    const float *const other = position + 3 * (k == 0 ? 1 : k - 1);
    const double b[2] = {
        (double)p[3] - (double)p[0], (double)p[4] - (double)p[1]};
    const double c[2] = {
        (double)p[6] - (double)p[0], (double)p[7] - (double)p[1]};
    const double area = 2.0 * (b[0] * c[1] - b[1] * c[0]);
    const double b2 = b[0] * b[0] + b[1] * b[1];
    const double c2 = c[0] * c[0] + c[1] * c[1];
    const double x = (c[1] * b2 - b[1] * c2) / area;
    const double y = (b[0] * c2 - c[0] * b2) / area;
    struct circle out = {.centre = {(double)p[0] + x, (double)p[1] + y},
        .radius = hypot(x, y),
        .turn = area > 0.0 ? 1.0 : -1.0,
        .at = {(double)own[0], (double)own[1], (double)own[2]}};
    const double chord = hypot(
        (double)own[0] - (double)other[0], (double)own[1] - (double)other[1]);
    const double arc = 2.0 * out.radius * asin(chord / (2.0 * out.radius));

    out.slope = ((double)own[2] - (double)other[2]) / (k == 0 ? -arc : arc);
    return out;
}

/* The point of the circle after a path s from its own. */
static void circle_point(double out[2], const struct circle *circle, double s)
{
    const double angle = atan2(circle->at[1] - circle->centre[1],
                             circle->at[0] - circle->centre[0]) +
                         circle->turn * s / circle->radius;

    out[0] = circle->centre[0] + circle->radius * cos(angle);
    out[1] = circle->centre[1] + circle->radius * sin(angle);
}

/* The path to this distance from the beam line, by bisection: it grows along
 * the path near the layers. */
static double path_to_radius(const struct circle *circle, double radius)
{
    double low = -60.0;
    double high = 60.0;

    for (int32_t n = 0; n < 60; n++) {
        const double s = 0.5 * (low + high);
        double point[2];

        circle_point(point, circle, s);
        *(hypot(point[0], point[1]) < radius ? &low : &high) = s;
    }
    return 0.5 * (low + high);
}

/* In units of the window, squared. */
static double distance_of(
    const struct circle *circle, const float *hit, bool is_barrel)
{
    const double radius = hypot((double)hit[0], (double)hit[1]);
    const double s = is_barrel
                         ? path_to_radius(circle, radius)
                         : ((double)hit[2] - circle->at[2]) / circle->slope;
    double point[2];

    circle_point(point, circle, s);
    const double r = hypot(point[0], point[1]);
    const double transverse =
        (point[0] * (double)hit[1] - point[1] * (double)hit[0]) / r;
    const double longitudinal =
        is_barrel ? (double)hit[2] - circle->at[2] - circle->slope * s
                  : radius - r;

    return s < -MAX_BACK ? INFINITY
                         : pow(transverse / (double)TRANSVERSE, 2.0) +
                               pow(longitudinal / (double)LONGITUDINAL, 2.0);
}

/* The nearest hit of layer l that is not of these modules; -1: none. */
static int32_t nearest(double *distance, const struct trial *trial, int32_t l,
    int32_t module, int32_t other_module)
{
    const struct circle circle = circle_at(trial->position, l);
    int32_t best = -1;

    *distance = (double)MAX_DISTANCE;
    for (int32_t i = N_LAYERS; i < N_HITS; i++) {
        if (trial->layer[i] != l || trial->module[i] == module ||
            trial->module[i] == other_module)
            continue;
        const double d =
            distance_of(&circle, trial->position + 3 * i, trial->is_barrel);
        if (d < *distance) {
            *distance = d;
            best = i;
        }
    }
    return best;
}

/* ---------------------------------------------------------------- search -- */

/* A window of the first two layers outward, of the third inward; the last layer
 * has none. Windows of the other helix are too wide. */
static struct etx_completion *new_completion(bool is_barrel)
{
    struct etx_completion *out = NULL;

    ck_assert_ok(etx_table_create(
        &out, &etx_completion_kind, (const int64_t[]){N_LAYERS, 5, 5, 1}));
    for (int32_t l = 0; l < N_LAYERS; l++) {
        out->layer[l * ETX_LAYER_WIDTH + ETX_LAYER_LAYER] = l;
        out->layer[l * ETX_LAYER_WIDTH + ETX_LAYER_IS_BARREL] = is_barrel;
    }
    static const int64_t steps[5][ETX_STEP_WIDTH] = {{ETX_OUTWARD, 0, 0},
        {ETX_OUTWARD, 0, 1}, {ETX_OUTWARD, 1, 1}, {ETX_OUTWARD, 2, 2},
        {ETX_INWARD, 2, 2}};
    for (int32_t k = 0; k < 5; k++)
        for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++) {
            const bool is_measured = k != 3;
            const bool is_same = steps[k][1] == steps[k][2];

            for (int32_t c = 0; c < ETX_STEP_WIDTH; c++)
                out->step[k * ETX_STEP_WIDTH + c] = steps[k][c];
            *etx_completion_window(out, k, ETX_HELIX_FREE, b) =
                (struct etx_completion_window){
                    is_measured ? TRANSVERSE * (is_same ? 1.0f : 3.0f) : 0.0f,
                    is_measured ? LONGITUDINAL : 0.0f};
            *etx_completion_window(out, k, ETX_HELIX_BEAM, b) =
                (struct etx_completion_window){9.0f, 9.0f};
        }
    for (int32_t k = 0; k < ETX_COMPLETION_N_FIELD; k++)
        out->field[k] = 2.0f;
    ck_assert_ok(etx_completion_check(out));
    return out;
}

/* The candidate of the particle's own hits, with those that overlap. */
static void add_overlaps(struct etx_candidate *out, const struct trial *trial)
{
    scoped_event *event = etx_test_event(N_HITS, trial->position);
    scoped_arena *arena = NULL;
    scoped int32_t *volume = etx_test_alloc(N_HITS, sizeof *volume);
    scoped int32_t *label = etx_test_alloc(N_HITS, sizeof *label);
    struct etx_first_pass_search *search = NULL;
    struct etx_completion *completion = new_completion(trial->is_barrel);
    struct etx_grid *grid = NULL;

    for (int32_t i = 0; i < N_HITS; i++)
        label[i] = -1;
    ck_assert_ok(
        etx_event_set_modules(event, volume, trial->layer, trial->module));
    ck_assert_ok(etx_arena_create(&arena, 0));
    ck_assert_ok(etx_grid_make(&grid, arena, completion, event));
    ck_assert_ok(
        etx_first_pass_search_make(&search, arena, grid, completion, event));
    etx_grid_fill(&search->grid, completion, label, N_HITS);
    search->max_distance = (double)MAX_DISTANCE;
    search->reach = sqrt(search->max_distance);
    *out = (struct etx_candidate){.n_hits = N_LAYERS, .n_layers = N_LAYERS};
    for (int32_t l = 0; l < N_LAYERS; l++)
        out->hit[l] = l;
    etx_candidate_add_overlaps(out, search);
    etx_table_free(completion);
}

ETX_TEST(test_first_pass_overlaps, .rows = 2)
{
    scoped struct trial *trial = etx_test_alloc(1, sizeof *trial);
    struct etx_random random;
    int64_t n_of[3] = {0}; /* layers with this many overlaps */

    etx_random_init(&random, 7, (uint32_t)_i, 0);
    for (int32_t n = 0; n < N_TRIALS; n++) {
        int32_t expected[N_LAYERS + MAX_ADDED] = {0, 1, 2, 3};
        int32_t n_expected = N_LAYERS;
        struct etx_candidate candidate;
        double sum = 0.0;

        make_trial(trial, _i == 0, &random);
        for (int32_t l = 0; l < N_LAYERS - 1; l++) {
            int32_t module = trial->module[l];
            int32_t found = 0;

            for (int32_t k = 0; k < 2; k++) {
                double distance;
                const int32_t hit =
                    nearest(&distance, trial, l, trial->module[l], module);

                if (hit < 0)
                    break;
                module = trial->module[hit];
                expected[n_expected++] = hit;
                sum += distance;
                found++;
            }
            n_of[found]++;
        }
        add_overlaps(&candidate, trial);
        ck_assert_int_eq(candidate.n_hits, n_expected);
        ck_assert_mem_eq(
            candidate.hit, expected, (size_t)n_expected * sizeof *expected);
        ck_assert_double_eq_tol(
            (double)candidate.distance, sum, 1e-2 * (sum + 1.0));
    }
    ck_assert_int_gt(n_of[2], N_TRIALS);
    ck_assert_int_gt(n_of[1], N_TRIALS / 10);
    ck_assert_int_gt(n_of[0], 0);
}
