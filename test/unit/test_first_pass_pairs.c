/* test_first_pass_pairs.c -- helices of pairs of hits, in vector code.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/cpu.h"
#include "base/random.h"
#include "stage/first_pass/pairs.h"

#include <string.h>

#define N_ROUNDS 200
#define N_SEEDS  2 /* one ends on a barrel, one on a disc */

static double between(struct etx_random *random, double low, double high)
{
    return low + (high - low) * (double)etx_random_uniform(random);
}

/* A detector of two layers, around the hits of pairs from the beam line and of
 * others. */
struct world {
    struct etx_completion completion;
    float field[ETX_COMPLETION_N_FIELD];
    int64_t seed[N_SEEDS * ETX_SEED_WIDTH];
    struct etx_completion_window window[N_SEEDS * ETX_COMPLETION_N_PT];
    float beam[2];
    struct etx_first_pass first_pass;
    struct etx_grid_hit first;
    struct etx_first_pass_search search;
};

static void make_world(struct world *world, struct etx_random *random)
{
    *world = (struct world){.seed = {0, 0, 0, 0, 0, 0, 1, 0},
        .beam = {0.0f, 160.0f},
        .first = {.x = 30.0f, .y = -12.0f, .z = 20.0f, .radius = 32.31099f}};
    for (int32_t b = 0; b < ETX_COMPLETION_N_FIELD; b++)
        world->field[b] = (float)between(random, -0.1, 2.1);
    for (int32_t k = 0; k < N_SEEDS * ETX_COMPLETION_N_PT; k++)
        world->window[k] =
            (struct etx_completion_window){(float)between(random, -0.1, 1.0),
                (float)between(random, 0.1, 60.0)};
    world->completion.field = world->field;
    world->first_pass.seed = world->seed;
    world->first_pass.window = world->window;
    world->first_pass.beam = world->beam;
    world->search.first_pass = &world->first_pass;
    world->search.completion = &world->completion;
    world->search.grid.row = &world->first;
    world->search.reach = 4.5;
    world->search.min_curvature = 1e-5;
    world->search.max_curvature = 4e-3;
    world->search.grid.layers[0] = (struct etx_grid_layer){.is_barrel = true,
        .radius = 116.0,
        .min_radius = 114.0,
        .max_radius = 118.0,
        .min_z = -500.0,
        .max_z = 500.0,
        .n_hits = 1};
    world->search.grid.layers[1] = (struct etx_grid_layer){.min_radius = 30.0,
        .max_radius = 170.0,
        .z = 600.0,
        .max_z = 603.0,
        .min_z = 597.0,
        .n_hits = 1};
}

/* Some in the direction of the first hit, some anywhere, one on it, one on the
 * beam line. */
static void draw_pairs(struct etx_pairs *pairs, const struct world *world,
    struct etx_random *random)
{
    memset(pairs, 0x55, sizeof *pairs); /* what is not written shows */
    pairs->first = 0;
    pairs->n = 1 + (int32_t)between(random, 0.0, ETX_PAIRS);
    for (int32_t i = 0; i < pairs->n; i++) {
        const double scale = i == 0 ? 1.0 : between(random, 1.5, 4.0);
        const double spread = i == 0 ? 0.0 : i % 3 == 0 ? 100.0 : 1.0;

        pairs->hit[i] = i;
        pairs->x[i] = scale * (double)world->first.x +
                      spread * between(random, -1.0, 1.0);
        pairs->y[i] = scale * (double)world->first.y +
                      spread * between(random, -1.0, 1.0);
        pairs->z[i] = scale * (double)world->first.z +
                      spread * between(random, -4.0, 40.0);
        if (i == 1)
            pairs->x[i] = pairs->y[i] = 0.0;
        pairs->radius[i] =
            sqrt(pairs->x[i] * pairs->x[i] + pairs->y[i] * pairs->y[i]);
    }
}

/* The version for vectors, where this processor has one. */
static const struct etx_pair_functions *fastest(void)
{
#if defined(__x86_64__)
    if (etx_cpu_has(ETX_CPU_AVX2))
        return &etx_pairs_avx2;
#endif
    return &etx_pairs_plain;
}

/* Every number of the first n that is read later. */
static void assert_same(const struct etx_pairs *a, const struct etx_pairs *b)
{
    const size_t n = (size_t)a->n;

    ck_assert_int_eq(a->n, b->n);
    ck_assert_mem_eq(a->hit, b->hit, n * sizeof *a->hit);
    ck_assert_mem_eq(a->bin, b->bin, n * sizeof *a->bin);
    ck_assert_mem_eq(a->x, b->x, n * sizeof *a->x);
    ck_assert_mem_eq(a->tangent_x, b->tangent_x, n * sizeof *a->x);
    ck_assert_mem_eq(a->tangent_y, b->tangent_y, n * sizeof *a->x);
    ck_assert_mem_eq(a->curvature, b->curvature, n * sizeof *a->x);
    ck_assert_mem_eq(a->slope, b->slope, n * sizeof *a->x);
    for (int32_t i = 0; i < a->n; i++)
        ck_assert(a->radius[i] == sqrt(a->x[i] * a->x[i] + a->y[i] * a->y[i]));
}

/* One by one, as etx_layer_cross. */
static int32_t assert_crossings(const struct world *world,
    const struct etx_pairs *pairs, const struct etx_pair_crossings *crossings,
    int32_t layer)
{
    int32_t n = 0;

    for (int32_t i = 0; i < pairs->n; i++) {
        const struct etx_track_helix helix = etx_pair_helix(pairs, i);
        struct etx_layer_crossing crossing;

        if (!pairs->is_kept[i])
            continue;
        const struct etx_measured_helix measured = {
            helix, pairs->measured_field[i], pairs->radius[i], pairs->bin[i]};
        const bool is_crossed = etx_layer_cross(&crossing, &world->completion,
            world->search.reach, &measured, &world->search.grid.layers[layer],
            &crossings->window[i]);
        ck_assert_int_eq(is_crossed, crossings->is_crossed[i] != 0);
        if (!is_crossed)
            continue;
        n++;
        ck_assert(crossing.across == crossings->across[i]);
        ck_assert(crossing.tolerance == crossings->tolerance[i]);
        ck_assert(crossing.azimuth == crossings->azimuth[i]);
        ck_assert(crossing.width == crossings->width[i]);
        ck_assert(crossing.curvature == crossings->curvature[i]);
    }
    return n;
}

/* The crossings of both versions with a layer; how many there are. */
static int32_t cross(const struct world *world, struct etx_pairs *pairs,
    const struct etx_pair_crossings *windows, int32_t layer)
{
    const struct etx_grid_layer *const of = &world->search.grid.layers[layer];
    struct etx_pair_crossings crossings = *windows;
    int32_t n;

    etx_pairs_plain.cross(&crossings, &world->search, pairs, of);
    n = assert_crossings(world, pairs, &crossings, layer);
    crossings = *windows;
    fastest()->cross(&crossings, &world->search, pairs, of);
    (void)assert_crossings(world, pairs, &crossings, layer);
    return n;
}

/* Both versions have the same bits, as one helix at a time has. */
ETX_TEST(test_first_pass_pairs_agree)
{
    scoped struct world *world = etx_test_alloc(1, sizeof *world);
    struct etx_random random;
    int64_t n_crossed[N_SEEDS] = {0, 0};
    int64_t n_kept = 0;
    int64_t n_pairs = 0;

    etx_random_init(&random, 21, 0, 0);
    for (int32_t round = 0; round < N_ROUNDS; round++) {
        struct etx_pairs plain, fast;

        make_world(world, &random);
        draw_pairs(&plain, world, &random);
        fast = plain;
        n_pairs += plain.n;
        etx_pairs_plain.find_helices(&plain, &world->search);
        n_kept += plain.n;
        fastest()->find_helices(&fast, &world->search);
        assert_same(&plain, &fast);
        for (int32_t i = 0; i < plain.n; i++) {
            const struct etx_track_helix helix = etx_pair_helix(&plain, i);

            ck_assert_int_eq(plain.bin[i],
                etx_completion_pt_bin(&helix,
                    etx_completion_measured_field(&world->completion, &helix)));
            plain.is_kept[i] = true;
        }
        for (int32_t seed = 0; seed < N_SEEDS; seed++) {
            struct etx_pair_crossings windows;

            for (int32_t i = 0; i < plain.n; i++)
                windows.window[i] =
                    world->window[seed * ETX_COMPLETION_N_PT + plain.bin[i]];
            n_crossed[seed] += cross(world, &plain, &windows, seed);
        }
    }
    ck_assert_int_gt(n_kept, N_ROUNDS);
    ck_assert_int_lt(n_kept, n_pairs);
    for (int32_t seed = 0; seed < N_SEEDS; seed++)
        ck_assert_int_gt(n_crossed[seed], N_ROUNDS / 4);
}

/* A line leads from the first hit to the second; its window is twice that of a
 * helix, and as much wider as a track bends up to the layer. */
static void assert_line(const struct world *world,
    const struct etx_pairs *pairs, const struct etx_pair_crossings *windows,
    const struct etx_completion_window *known, int32_t layer, int32_t i)
{
    const struct etx_grid_layer *const to = &world->search.grid.layers[layer];
    const double length = hypot(pairs->x[i] - (double)world->first.x,
        pairs->y[i] - (double)world->first.y);
    const double back_x = pairs->x[i] - length * pairs->tangent_x[i];
    const double back_y = pairs->y[i] - length * pairs->tangent_y[i];
    const double path = to->is_barrel
                            ? fabs(to->radius - pairs->radius[i])
                            : fabs((to->z - pairs->z[i]) / pairs->slope[i]);
    const double bend =
        0.5 * world->search.max_curvature * path * (length + path);
    const double transverse =
        2.0 * (double)known->transverse + bend / world->search.reach;

    ck_assert_int_eq(pairs->is_kept[i] != 0, length >= ETX_MIN_CHORD);
    if (!pairs->is_kept[i])
        return;
    ck_assert_double_eq_tol(back_x, (double)world->first.x, 1e-9);
    ck_assert_double_eq_tol(back_y, (double)world->first.y, 1e-9);
    ck_assert_double_eq_tol(
        pairs->z[i] - length * pairs->slope[i], (double)world->first.z, 1e-9);
    ck_assert(pairs->curvature[i] == 0.0);
    ck_assert_double_eq_tol(
        (double)windows->window[i].transverse, fmin(transverse, 25.0), 1e-5);
    ck_assert_double_eq_tol((double)windows->window[i].longitudinal,
        fmin(2.0 * (double)known->longitudinal, 50.0), 1e-5);
}

/* The same of lines, where seeds lead anywhere. */
ETX_TEST(test_first_pass_lines_agree)
{
    scoped struct world *world = etx_test_alloc(1, sizeof *world);
    struct etx_random random;
    int64_t n_crossed[N_SEEDS] = {0, 0};

    etx_random_init(&random, 22, 0, 0);
    for (int32_t round = 0; round < N_ROUNDS; round++) {
        const int32_t layer = round % N_SEEDS;
        struct etx_pair_crossings windows, others;
        struct etx_pairs plain, fast;

        make_world(world, &random);
        draw_pairs(&plain, world, &random);
        fast = plain;
        etx_pairs_plain.find_lines(&windows, &plain, &world->search,
            &world->search.grid.layers[layer], &world->window[0]);
        for (int32_t i = 0; i < plain.n; i++)
            assert_line(world, &plain, &windows, &world->window[0], layer, i);
        fastest()->find_lines(&others, &fast, &world->search,
            &world->search.grid.layers[layer], &world->window[0]);
        assert_same(&plain, &fast);
        ck_assert_mem_eq(windows.window, others.window,
            (size_t)plain.n * sizeof *windows.window);
        n_crossed[layer] += cross(world, &plain, &windows, layer);
    }
    for (int32_t layer = 0; layer < N_SEEDS; layer++)
        ck_assert_int_gt(n_crossed[layer], N_ROUNDS / 4);
}

/* More hits and layers come first, then the smaller mean distance. */
ETX_TEST(test_first_pass_order_of_candidates)
{
    static const struct etx_candidate rows[] = {
        {.n_hits = 5, .n_layers = 4, .distance = 50.0f},
        {.n_hits = 4, .n_layers = 4, .distance = 0.0f},
        {.n_hits = 4, .n_layers = 4, .distance = 4.0f},
        {.n_hits = 4, .n_layers = 3, .distance = 0.0f},
        {.n_hits = 3, .n_layers = 3, .distance = 3.0f},
        {.n_hits = 3, .n_layers = 3, .distance = 1e30f}};

    for (size_t k = 1; k < sizeof rows / sizeof rows[0]; k++)
        ck_assert_int_lt(
            etx_candidate_key(&rows[k - 1]), etx_candidate_key(&rows[k]));
}
