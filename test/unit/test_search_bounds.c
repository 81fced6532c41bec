/* test_search_bounds.c -- how much work a search does where hits crowd: the
 * bounds of SECURITY.md.
 *
 * Six barrels, on which a straight track along x is sought among hits next
 * to it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "data/event.h"
#include "stage/completion/completion.h"
#include "stage/first_pass/pairs.h"
#include "stage/first_pass/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_LAYERS       20
#define THIRD          2
#define MAX_HITS       2000
#define MAX_LOOKED_AT  512
#define MAX_CANDIDATES 256
#define MAX_ROUNDS     16
#define MAX_VISITS     4096
#define CROWD          90 /* hits of a layer */
#define N_OTHERS       600

/* The table, hits and grid. */
struct bench {
    struct etx_completion *table;
    etx_event *event;
    struct etx_arena *arena;
    struct etx_first_pass_search *search;
    struct etx_step_cache cache;
    int64_t n_hits;
    float position[3 * MAX_HITS];
    int32_t volume_id[MAX_HITS], layer_id[MAX_HITS], module_id[MAX_HITS],
        label[MAX_HITS];
};

static void free_bench(struct bench **bench)
{
    etx_table_free((*bench)->table);
    etx_event_free((*bench)->event);
    etx_arena_free((*bench)->arena);
    free(*bench);
}

/* Barrels that follow each other, with windows of 1 mm. */
static struct etx_completion *new_table(void)
{
    struct etx_completion *out = NULL;

    ck_assert_ok(etx_table_create(&out, &etx_completion_kind,
        (const int64_t[]){N_LAYERS, N_LAYERS - 1, N_LAYERS - 1, 1}));
    for (int32_t l = 0; l < N_LAYERS; l++) {
        out->layer[l * ETX_LAYER_WIDTH + ETX_LAYER_LAYER] = l;
        out->layer[l * ETX_LAYER_WIDTH + ETX_LAYER_IS_BARREL] = 1;
    }
    for (int32_t k = 0; k < N_LAYERS - 1; k++) {
        out->step[k * ETX_STEP_WIDTH + ETX_STEP_DIRECTION] = ETX_OUTWARD;
        out->step[k * ETX_STEP_WIDTH + ETX_STEP_FROM] = k;
        out->step[k * ETX_STEP_WIDTH + ETX_STEP_TO] = k + 1;
        for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++)
            *etx_completion_window(out, k, ETX_HELIX_FREE, b) =
                (struct etx_completion_window){1.0f, 1.0f};
    }
    for (int32_t k = 0; k < ETX_COMPLETION_N_FIELD; k++)
        out->field[k] = 2.0f;
    ck_assert_ok(etx_completion_check(out));
    return out;
}

static void add_hit(struct bench *bench, int32_t layer, float y)
{
    const int64_t i = bench->n_hits++;

    bench->position[3 * i] = 100.0f * (float)(layer + 1);
    bench->position[3 * i + 1] = y;
    bench->layer_id[i] = layer;
    bench->label[i] = -1;
}

/* A search for tracks from anywhere among the hits. */
static void open_search(struct bench *bench)
{
    struct etx_first_pass_search *search;
    struct etx_grid *grid = NULL;

    bench->table = new_table();
    bench->event = etx_test_event(bench->n_hits, bench->position);
    ck_assert_ok(etx_event_set_modules(
        bench->event, bench->volume_id, bench->layer_id, bench->module_id));
    ck_assert_ok(etx_arena_create(&bench->arena, 0));
    ck_assert_ok(
        etx_grid_make(&grid, bench->arena, bench->table, bench->event));
    ck_assert_ok(etx_first_pass_search_make(
        &bench->search, bench->arena, grid, bench->table, bench->event));
    search = bench->search;
    etx_grid_fill(&search->grid, bench->table, bench->label, bench->n_hits);
    search->pairs = &etx_pairs_plain;
    search->leads_anywhere = true;
    search->max_distance = 64.0;
    search->reach = 8.0;
    search->max_random = search->seed_max_random = search->seed_max_of_hit =
        INFINITY;
    search->max_unrelated = INFINITY;
    search->max_curvature = 0.01;
    search->min_layers = N_LAYERS;
    memset(&bench->cache, -1, sizeof bench->cache);
    bench->cache.n_candidates = bench->cache.n_visits = 0;
    search->cache = &bench->cache;
}

/* A walk over all hits of a layer. */
ETX_TEST(test_search_bounds_hits_of_walk, .rows = 2)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    const int32_t n = MAX_LOOKED_AT + _i;
    const struct etx_grid_hit *hit;
    struct etx_grid_walk walk;
    int32_t n_visited = 0;

    for (int32_t k = 0; k < n; k++)
        add_hit(bench, THIRD, 0.01f * (float)k);
    open_search(bench);
    etx_grid_begin(
        &walk, &bench->search->grid.layers[THIRD], 0.0, 1.0, -1.0, 1.0);
    while ((hit = etx_grid_next(&walk)) != NULL)
        n_visited++;
    ck_assert_int_eq(n_visited, MAX_LOOKED_AT);
}

/* The last candidate of a first hit is the track, or one too many. */
ETX_TEST(test_search_bounds_candidates, .rows = 2)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    struct etx_candidate best[ETX_CANDIDATES_OF_HIT];

    add_hit(bench, 0, 0.0f);
    add_hit(bench, 1, 0.0f);
    for (int32_t k = 0; k < MAX_CANDIDATES - 1 + _i; k++)
        add_hit(bench, THIRD, -6.0f);
    for (int32_t l = THIRD; l < N_LAYERS; l++)
        add_hit(bench, l, 0.0f);
    open_search(bench);
    etx_free_candidates(best, bench->search, 0);
    ck_assert_int_eq(best[0].n_hits, _i == 0 ? N_LAYERS : 0);
    ck_assert_int_eq(bench->cache.n_candidates, MAX_CANDIDATES);
}

/* After the last visit but one a first hit has a candidate, after the last it
 * has none. */
ETX_TEST(test_search_bounds_visits, .rows = 2)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    struct etx_candidate best[ETX_CANDIDATES_OF_HIT];

    for (int32_t l = 0; l < N_LAYERS; l++)
        add_hit(bench, l, 0.0f);
    open_search(bench);
    bench->cache.n_visits = MAX_VISITS - 2 + _i; /* one more: the second hit */
    etx_free_candidates(best, bench->search, 0);
    ck_assert_int_eq(best[0].n_hits, _i == 0 ? N_LAYERS : 0);
}

/* Every hit of a crowd on each layer is visited for each candidate, until the
 * bound: what is beyond it are the visits of one candidate. */
ETX_TEST(test_search_bounds_visits_of_crowd)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    struct etx_candidate best[ETX_CANDIDATES_OF_HIT];

    for (int32_t l = 0; l < N_LAYERS; l++)
        for (int32_t k = 0; k < CROWD; k++)
            add_hit(bench, l, 0.01f * (float)k);
    open_search(bench);
    etx_free_candidates(best, bench->search, 0);
    ck_assert_int_eq(best[0].n_hits, N_LAYERS);
    ck_assert_int_ge(bench->cache.n_visits, MAX_VISITS);
    ck_assert_int_lt(bench->cache.n_visits, MAX_VISITS + N_LAYERS * CROWD);
}

/* Where many second hits are, the third one is as near as all of them together
 * may have unrelated ones. */
ETX_TEST(test_search_bounds_third_hits, .rows = 3)
{
    const double part[] = {0.99, 1.01, INFINITY};
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    struct etx_candidate best[ETX_CANDIDATES_OF_HIT];

    add_hit(bench, 0, 0.0f);
    add_hit(bench, 1, 0.0f);
    add_hit(bench, THIRD, 1.0f);
    for (int32_t k = 0; k < CROWD; k++)
        add_hit(bench, 1, -90.0f); /* their lines lead elsewhere */
    open_search(bench);
    bench->search->min_layers = 3;
    etx_free_candidates(best, bench->search, 0);
    ck_assert_int_eq(best[0].n_hits, 3);
    ck_assert_float_gt(best[0].random, 0.0f);
    bench->search->seed_max_of_hit =
        part[_i] * (double)best[0].random * (CROWD + 1);
    bench->cache.n_candidates = bench->cache.n_visits = 0;
    etx_free_candidates(best, bench->search, 0);
    ck_assert_int_eq(best[0].n_hits, _i == 0 ? 0 : 3);
}

/* The hit that a track lacks is beyond many ends of other tracks, or one
 * too many. */
ETX_TEST(test_search_bounds_completion, .rows = 2)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    scoped_context *context = etx_test_context();
    etx_completion_options options;

    for (int32_t l = 0; l <= THIRD; l++)
        add_hit(bench, l, 0.0f);
    for (int32_t k = 0; k < MAX_LOOKED_AT - 1 + _i; k++)
        add_hit(bench, THIRD + 1, -2.0f);
    add_hit(bench, THIRD + 1, 0.0f);
    for (int64_t i = 0; i < bench->n_hits - 1; i++)
        bench->label[i] = i <= THIRD ? 0 : (int32_t)(i - THIRD);
    open_search(bench);
    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    ck_assert_ok(etx_complete_labels(bench->label, context,
        &bench->search->grid, bench->table, &options, bench->event));
    ck_assert_int_eq(bench->label[bench->n_hits - 1], _i == 0 ? 0 : -1);
}

/* Each round adds a hit at the end of a track: the last round the last hit, or
 * one is left. */
ETX_TEST(test_search_bounds_rounds, .rows = 2)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    scoped_context *context = etx_test_context();
    const int32_t n = THIRD + 1 + MAX_ROUNDS + _i;
    etx_completion_options options;

    for (int32_t l = 0; l < n; l++) {
        add_hit(bench, l, 0.0f);
        bench->label[l] = l <= THIRD ? 0 : -1;
    }
    open_search(bench);
    ck_assert_ok(etx_completion_options_init(&options, sizeof options));
    ck_assert_ok(etx_complete_labels(bench->label, context,
        &bench->search->grid, bench->table, &options, bench->event));
    ck_assert_int_eq(bench->label[n - 2], 0);
    ck_assert_int_eq(bench->label[n - 1], _i == 0 ? 0 : -1);
}

/* Second hits are sought between the lines from both ends of the beam at the
 * least and the largest radius of their layer: a track on the outermost of
 * these is found. Other hits make the grid of that layer fine, with bins that
 * end at 340 and 510 mm.
 */
ETX_TEST(test_search_bounds_second_hits, .rows = 4)
{
    __attribute__((cleanup(free_bench))) struct bench *bench =
        etx_test_alloc(1, sizeof *bench);
    const float from = _i % 2 == 0 ? -100.0f : 100.0f;
    const float slope = _i / 2 == 0 ? -2.0f : 2.0f;
    const int32_t is_largest = (from < 0.0f) == (slope > 0.0f);
    int64_t seed[ETX_SEED_WIDTH] = {0, 1, 2, 0}, row = 0;
    struct etx_completion_window window[ETX_COMPLETION_N_PT];
    float beam[] = {0.0f, 100.0f};
    const struct etx_first_pass table = {
        .n_seeds = 1, .seed = seed, .window = window, .beam = beam};
    struct etx_candidate best[ETX_CANDIDATES_OF_HIT];

    for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++)
        window[b] = (struct etx_completion_window){1.0f, 1.0f};
    for (int32_t l = 0; l < N_LAYERS; l++)
        add_hit(bench, l, 0.0f);
    bench->position[3] = is_largest ? 230.0f : 200.0f;
    for (int32_t l = 0; l < N_LAYERS; l++)
        bench->position[3 * l + 2] = from + slope * bench->position[3 * l];
    for (int32_t k = 0; k < N_OTHERS; k++) {
        add_hit(bench, 1, 0.0f);
        bench->position[3 * (N_LAYERS + k)] = k % 2 == 0 ? -200.0f : -230.0f;
        bench->position[3 * (N_LAYERS + k) + 2] = k % 3 == 0 ? -680.0f : 680.0f;
    }
    open_search(bench);
    bench->search->first_pass = &table;
    bench->search->leads_anywhere = false;
    bench->search->min_curvature = -1.0;
    bench->search->n_seeds = 1;
    bench->search->seed = &row;
    etx_seed_candidates(best, bench->search, 0);
    ck_assert_int_eq(best[0].n_hits, N_LAYERS);
}
