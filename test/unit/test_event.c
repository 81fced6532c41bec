/* test_event.c -- events from arrays: what is kept and what is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */
#include "support.h"

#include "base/heap.h"
#include "base/random.h"
#include "data/event.h"
#include "data/id_index.h"
#include "train/sampling/augment_event.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define N 4

static const int64_t hit_ids[N] = {6, 9, 1, 4};
static const float positions[3 * N] = {
    1, 2, 3, -4, 5, 6, 7, -8, 9, 10, 11, -12};
static const int64_t particle_ids[N] = {900, 0, 5, 900};
static const float weights[N] = {0.25f, 0.0f, 0.5f, 0.25f};
static const etx_particle particles[] = {
    {.id = 900, .vertex = {1, 2, 3}, .momentum = {4, 5, 6}, .charge = -1},
    {.id = 5, .n_hits = 3},
    {.id = INT64_MAX},
};

static etx_event *make_event(void)
{
    etx_event *event = NULL;

    ck_assert_ok(etx_event_create(&event, N, hit_ids, positions));
    return event;
}

/* ----------------------------------------------------------------- kept -- */

ETX_TEST(test_event_create)
{
    const int64_t before = etx_heap_in_use();
    etx_event *event = make_event();

    ck_assert_int_eq(etx_event_n_hits(event), N);
    ck_assert_mem_eq(etx_event_hit_ids(event), hit_ids, sizeof hit_ids);
    ck_assert_mem_eq(etx_event_positions(event), positions, sizeof positions);
    ck_assert_ptr_ne(etx_event_positions(event), positions);
    ck_assert_ptr_null(etx_event_particle_ids(event));
    ck_assert_ptr_null(etx_event_particles(event));
    ck_assert_ptr_null(etx_event_cell_features(event));
    ck_assert_int_eq(etx_event_n_particles(event), 0);
    etx_event_free(event);

    ck_assert_ok(etx_event_create(&event, N, NULL, positions));
    for (int64_t i = 0; i < N; i++)
        ck_assert_int_eq(etx_event_hit_ids(event)[i], i + 1);
    etx_event_free(event);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

ETX_TEST(test_event_empty)
{
    scoped_event *event = NULL;

    ck_assert_ok(etx_event_create(&event, 0, NULL, NULL));
    ck_assert_int_eq(etx_event_n_hits(event), 0);
    ck_assert_ok(etx_event_set_features(event, 3, NULL));
    ck_assert_ok(etx_event_set_modules(event, NULL, NULL, NULL));
    ck_assert_ok(etx_event_set_truth(event, NULL, NULL, 0, NULL));
    ck_assert_int_eq(etx_event_n_particles(event), 0);
}

ETX_TEST(test_event_truth)
{
    scoped_event *event = make_event();

    for (int round = 0; round < 2; round++) { /* the second replaces it */
        ck_assert_ok(
            etx_event_set_truth(event, particle_ids, weights, 3, particles));
        ck_assert_mem_eq(
            etx_event_particle_ids(event), particle_ids, sizeof particle_ids);
        ck_assert_mem_eq(event->weight, weights, sizeof weights);
        ck_assert_int_eq(etx_event_n_particles(event), 3);
        const etx_particle *sorted = etx_event_particles(event);
        ck_assert_int_eq(sorted[0].id, 5);
        ck_assert_int_eq(sorted[0].n_hits, 3);
        ck_assert_mem_eq(&sorted[1], &particles[0], sizeof sorted[1]);
        ck_assert_int_eq(sorted[2].id, INT64_MAX);
        ck_assert_int_eq(event->particle_row[0], 1);
        ck_assert_int_eq(event->particle_row[1], -1);
        ck_assert_int_eq(event->particle_row[2], 0);
        ck_assert_int_eq(event->particle_row[3], 1);
    }
    ck_assert_ok(etx_event_set_truth(event, particle_ids, NULL, 3, particles));
    for (int i = 0; i < N; i++)
        ck_assert_float_eq(event->weight[i], 0.25f);
}

ETX_TEST(test_event_getters)
{
    static const int32_t ids[3][N] = {{7, 8}, {2, 4, 6}, {1, 3, 5, 9}};
    const float features[N][2] = {{1.0f, -1.0f}, {2.0f, -2.0f}};
    scoped_event *event = make_event();

    ck_assert_ptr_null(etx_event_volume_ids(event));
    ck_assert_ptr_null(etx_event_weights(event));
    ck_assert_ptr_null(etx_event_features(event));
    ck_assert_ok(etx_event_set_modules(event, ids[0], ids[1], ids[2]));
    ck_assert_ok(etx_event_set_features(event, 2, features[0]));
    ck_assert_ok(
        etx_event_set_truth(event, particle_ids, weights, 3, particles));
    ck_assert_mem_eq(etx_event_volume_ids(event), ids[0], sizeof ids[0]);
    ck_assert_mem_eq(etx_event_layer_ids(event), ids[1], sizeof ids[1]);
    ck_assert_mem_eq(etx_event_module_ids(event), ids[2], sizeof ids[2]);
    ck_assert_mem_eq(etx_event_weights(event), weights, sizeof weights);
    ck_assert_int_eq(etx_event_n_features(event), 2);
    ck_assert_mem_eq(etx_event_features(event), features, sizeof features);
}

/* The largest coordinates and features are kept, larger ones refused. */
ETX_TEST(test_event_magnitudes, .rows = 2)
{
    const float value = _i == 0 ? 1e9f : 1.0000001e9f;
    const etx_status expected = _i == 0 ? ETX_OK : ETX_ERR_LIMIT;
    scoped_event *event = make_event();
    scoped_event *far = NULL;
    scoped_graph *graph = NULL;
    float values[N * ETX_N_CELL_FEATURES] = {0.0f};

    values[4] = -value;
    ck_assert_status(etx_event_create(&far, N, NULL, values), expected);
    ck_assert_status(etx_event_set_features(event, 2, values), expected);
    ck_assert_status(etx_event_set_cell_features(event, values), expected);
    ck_assert_status(etx_event_set_cluster_positions(event, values), expected);
    ck_assert_ok(etx_graph_from_edges(&graph, N, 2, (const int32_t[]){0, 1},
        (const int32_t[]){1, 2}, NULL, NULL));
    ck_assert_status(etx_graph_set_edge_features(graph, 3, values), expected);
    if (_i == 1)
        ck_assert_error("of edge 1, column 1, is not in +-1000000000");
}

/* -------------------------------------------------------------- columns -- */

#define N_FEATURES 3

/* An event of n hits whose every column has random bytes. */
static etx_event *make_full_event(int64_t n, uint64_t seed)
{
    struct etx_random random;
    struct etx_event *event = NULL;

    etx_random_init(&random, seed, 0, 0);
    ck_assert_ok(etx_alloc(&event, 1, sizeof *event, "event"));
    event->n_hits = n;
    event->n_features = N_FEATURES;
    for (int32_t c = 0; c < ETX_N_EVENT_COLUMNS; c++) {
        const struct etx_event_column *column = &etx_event_columns[c];
        const size_t width = etx_event_row_bytes(event, column);
        unsigned char *values = NULL;

        ck_assert_uint_gt(width, 0);
        ck_assert_ok(etx_alloc(&values, n, width, column->what));
        for (size_t i = 0; i < (size_t)n * width; i++)
            values[i] = (unsigned char)etx_random_below(&random, 256);
        etx_event_column_set(event, column, values);
    }
    return event;
}

/* From row first on, the columns of kinds low .. high are equal to expected;
 * an event has no column of other kinds. */
static void assert_columns(const etx_event *event, int64_t first,
    const etx_event *expected, int32_t low, int32_t high)
{
    for (int32_t c = 0; c < ETX_N_EVENT_COLUMNS; c++) {
        const struct etx_event_column *column = &etx_event_columns[c];
        const size_t width = etx_event_row_bytes(expected, column);
        const unsigned char *values = etx_event_column_get(event, column);

        if (column->kind < low || column->kind > high) {
            ck_assert_ptr_null(values);
            continue;
        }
        ck_assert_msg(values != NULL, "no %s", column->what);
        ck_assert_msg(memcmp(values + (size_t)first * width,
                          etx_event_column_get(expected, column),
                          (size_t)expected->n_hits * width) == 0,
            "%s differ", column->what);
    }
}

/* Hits selected in another order and back are those that were. */
ETX_TEST(test_event_columns_selected)
{
    static const int32_t order[] = {3, 0, 4, 1, 2};
    static const int32_t back[] = {1, 3, 4, 0, 2};
    const int64_t before = etx_heap_in_use();
    etx_event *event = make_full_event(5, 1);
    etx_event *one = NULL;
    etx_event *two = NULL;

    ck_assert_ok(etx_event_select(&one, event, order, 5));
    ck_assert_ok(etx_event_select(&two, one, back, 5));
    assert_columns(two, 0, event, ETX_COLUMN_ID, ETX_COLUMN_INPUT);
    etx_event_free(one);
    etx_event_free(two);
    ck_assert_ok(etx_event_select_with_truth(&one, event, order, 5));
    ck_assert_ok(etx_event_select_with_truth(&two, one, back, 5));
    assert_columns(two, 0, event, ETX_COLUMN_ID, ETX_COLUMN_TRUTH);
    etx_event_free(one);
    etx_event_free(two);
    etx_event_free(event);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

/* Events side by side have what a model reads, each its own rows. */
ETX_TEST(test_event_columns_joined)
{
    const int64_t before = etx_heap_in_use();
    etx_event *event[] = {make_full_event(4, 2), make_full_event(3, 3)};
    etx_event *joined = NULL;

    ck_assert(etx_event_can_join(event[0], event[1]));
    ck_assert_ok(etx_event_join(&joined, (const etx_event *const *)event, 2));
    assert_columns(joined, 0, event[0], ETX_COLUMN_INPUT, ETX_COLUMN_INPUT);
    assert_columns(joined, 4, event[1], ETX_COLUMN_INPUT, ETX_COLUMN_INPUT);
    for (int32_t c = 0; c < ETX_N_EVENT_COLUMNS; c++) {
        const struct etx_event_column *column = &etx_event_columns[c];
        void *values = etx_event_column_get(event[1], column);

        etx_event_column_set(event[1], column, NULL);
        ck_assert_int_eq(etx_event_can_join(event[0], event[1]),
            column->kind != ETX_COLUMN_INPUT);
        etx_event_column_set(event[1], column, values);
    }
    etx_event_free(joined);
    etx_event_free(event[0]);
    etx_event_free(event[1]);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

/* An augmentation that changes nothing keeps all. */
ETX_TEST(test_event_columns_augmented)
{
    const struct etx_train_augmentation options = {0};
    const int64_t before = etx_heap_in_use();
    etx_event *event = make_full_event(6, 4);
    etx_event *copy = NULL;
    struct etx_random random;

    etx_random_init(&random, 5, 0, 0);
    ck_assert_ok(etx_augment_event(&copy, event, &random, &options));
    assert_columns(copy, 0, event, ETX_COLUMN_ID, ETX_COLUMN_TRUTH);
    etx_event_free(copy);
    etx_event_free(event);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

/* ------------------------------------------------------------- refused -- */

static const struct {
    int64_t n_hits;
    const int64_t *hit_ids;
    const float *positions;
    etx_status status;
    const char *error;
} creations[] = {
    {-1, NULL, positions, ETX_ERR_ARGUMENT, "n_hits -1 is negative"},
    {INT64_MIN, NULL, positions, ETX_ERR_ARGUMENT, "n_hits"},
    {INT64_C(1) << 31, NULL, positions, ETX_ERR_LIMIT,
        "n_hits 2147483648 is above 2147483647"},
    {INT64_C(1) << 32, NULL, positions, ETX_ERR_LIMIT, "n_hits"},
    {INT64_MAX / 4, NULL, positions, ETX_ERR_LIMIT, "n_hits"},
    {INT64_MAX, NULL, positions, ETX_ERR_LIMIT, "n_hits"},
    {2, NULL, (const float[]){1, 2, 3, 4, NAN, 6}, ETX_ERR_ARGUMENT,
        "positions row 1 column 1 is not finite"},
    {2, NULL, (const float[]){1, 2, -INFINITY, 4, 5, 6}, ETX_ERR_ARGUMENT,
        "positions row 0 column 2 is not finite"},
    {2, (const int64_t[]){7, 0}, positions, ETX_ERR_ARGUMENT,
        "hit 1: id 0 is not positive"},
    {2, (const int64_t[]){INT64_MIN, 3}, positions, ETX_ERR_ARGUMENT,
        "hit 0: id -9223372036854775808"},
    {3, (const int64_t[]){7, 8, 7}, positions, ETX_ERR_ARGUMENT,
        "hits 0 and 2 have the same id 7"},
    {3, (const int64_t[]){1, INT64_MAX, INT64_MAX}, positions, ETX_ERR_ARGUMENT,
        "hits 1 and 2 have the same id"},
};

ETX_TEST(test_event_create_refused, .rows = ROWS(creations))
{
    char untouched = 'u';
    void *memory = &untouched;
    etx_event *event = memory;
    const int64_t before = etx_heap_in_use();

    ck_assert_fails(etx_event_create(&event, creations[_i].n_hits,
                        creations[_i].hit_ids, creations[_i].positions),
        creations[_i].status, creations[_i].error);
    ck_assert_ptr_eq(event, memory);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

ETX_TEST(test_event_create_misaligned)
{
    char bytes[64] = {0};
    void *odd = bytes + 1;
    etx_event *event = NULL;

    ck_assert_refused(etx_event_create(&event, 1, NULL, odd),
        "positions is not aligned to 4 bytes");
    ck_assert_refused(etx_event_create(&event, 1, odd, positions),
        "hit_ids is not aligned to 8 bytes");
    ck_assert_ptr_null(event);
}

ETX_TEST(test_event_features_refused)
{
    static const float features[2 * N] = {1, 2, 3, 4, 5, 6, NAN, 8};
    scoped_event *event = make_event();

    ck_assert_ok(etx_event_set_features(event, 1, features));
    const float *kept = event->features;

    ck_assert_refused(
        etx_event_set_features(event, 0, features), "n_features 0");
    ck_assert_refused(
        etx_event_set_features(event, -3, features), "n_features -3");
    ck_assert_fails(etx_event_set_features(event, 33, features), ETX_ERR_LIMIT,
        "n_features 33");
    ck_assert_fails(etx_event_set_features(event, INT64_MAX, features),
        ETX_ERR_LIMIT, "n_features");
    ck_assert_refused(etx_event_set_features(event, 2, features),
        "features row 3 column 0 is not finite");
    ck_assert_ptr_eq(event->features, kept);
    ck_assert_int_eq(event->n_features, 1);
}

#define P(...) ((const etx_particle[]){__VA_ARGS__})

static const struct {
    const int64_t *particle_ids;
    const float *weights;
    int64_t n_particles;
    const etx_particle *particles;
    etx_status status;
    const char *error;
} truths[] = {
    {particle_ids, weights, 3, NULL, ETX_ERR_ARGUMENT, "particles is NULL"},
    {particle_ids, weights, -1, particles, ETX_ERR_ARGUMENT, "n_particles -1"},
    {particle_ids, weights, INT64_MAX, particles, ETX_ERR_LIMIT, "n_particles"},
    {particle_ids, weights, 1, particles, ETX_ERR_ARGUMENT,
        "hit 2: particle id 5 is not among the 1 particles"},
    {(const int64_t[]){0, -3, 0, 0}, weights, 3, particles, ETX_ERR_ARGUMENT,
        "hit 1: particle id -3 is negative; noise is 0"},
    {particle_ids, (const float[]){1, 1, NAN, 1}, 3, particles,
        ETX_ERR_ARGUMENT, "weights row 2"},
    {particle_ids, (const float[]){1, 1, 1, -0.5f}, 3, particles,
        ETX_ERR_ARGUMENT, "weight 3 is -0.5"},
    {particle_ids, weights, 2, P({.id = 5}, {.id = 0}), ETX_ERR_ARGUMENT,
        "particle 1: id 0 is not positive"},
    {particle_ids, weights, 2, P({.id = 5}, {.id = 900, .n_hits = -1}),
        ETX_ERR_ARGUMENT, "particle 1: n_hits -1 is negative"},
    {particle_ids, weights, 3, P({.id = 5}, {.id = 900}, {.id = 5}),
        ETX_ERR_ARGUMENT, "particles 0 and 2 have the same id 5"},
    {particle_ids, weights, 2,
        P({.id = 5, .momentum = {0, INFINITY, 0}}, {.id = 900}),
        ETX_ERR_ARGUMENT, "particle 0: vertex or momentum is not finite"},
    {particle_ids, weights, 2, P({.id = 5}, {.id = 900, .vertex = {NAN, 0, 0}}),
        ETX_ERR_ARGUMENT, "particle 1: vertex or momentum is not finite"},
};

ETX_TEST(test_event_truth_refused, .rows = ROWS(truths))
{
    scoped_event *event = make_event();
    const int64_t ids[N] = {0, 0, 5, 0};

    ck_assert_ok(etx_event_set_truth(event, ids, NULL, 3, particles));
    const etx_particle *kept = etx_event_particles(event);
    const int64_t before = etx_heap_in_use();

    ck_assert_fails(
        etx_event_set_truth(event, truths[_i].particle_ids, truths[_i].weights,
            truths[_i].n_particles, truths[_i].particles),
        truths[_i].status, truths[_i].error);
    ck_assert_ptr_eq(etx_event_particles(event), kept);
    ck_assert_mem_eq(etx_event_particle_ids(event), ids, sizeof ids);
    ck_assert_float_eq(event->weight[0], 0.25f);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

static const struct {
    int64_t n;
    const int32_t *hits;
    const int64_t *ids;
    etx_status status;
    const char *error;
} shared[] = {
    {-1, (const int32_t[]){2}, (const int64_t[]){900}, ETX_ERR_ARGUMENT,
        "n_shared -1"},
    {1, (const int32_t[]){4}, (const int64_t[]){900}, ETX_ERR_ARGUMENT,
        "shared hit 4 is not in 0 .. 3"},
    {1, (const int32_t[]){-1}, (const int64_t[]){900}, ETX_ERR_ARGUMENT,
        "shared hit -1 is not in 0 .. 3"},
    {1, (const int32_t[]){1}, (const int64_t[]){900}, ETX_ERR_ARGUMENT,
        "shared hit 1 is noise"},
    {1, (const int32_t[]){2}, (const int64_t[]){6}, ETX_ERR_ARGUMENT,
        "shared hit 2: particle id 6 is not among the 3 particles"},
    {1, (const int32_t[]){2}, (const int64_t[]){5}, ETX_ERR_ARGUMENT,
        "shared hit 2: particle id 5 occurs twice"},
    {3, (const int32_t[]){2, 2, 2}, (const int64_t[]){900, INT64_MAX, 900},
        ETX_ERR_ARGUMENT, "shared hit 2: particle id 900 occurs twice"},
};

ETX_TEST(test_event_shared_hits_refused, .rows = ROWS(shared))
{
    static const int32_t hit = 2;
    static const int64_t id = 900;
    scoped_event *event = make_event();

    ck_assert_refused(etx_event_set_shared_hits(event, 1, &hit, &id),
        "the event has no truth");
    ck_assert_ok(
        etx_event_set_truth(event, particle_ids, weights, 3, particles));
    ck_assert_ok(etx_event_set_shared_hits(event, 1, &hit, &id));
    const int64_t before = etx_heap_in_use();

    ck_assert_fails(etx_event_set_shared_hits(
                        event, shared[_i].n, shared[_i].hits, shared[_i].ids),
        shared[_i].status, shared[_i].error);
    ck_assert_int_eq(etx_event_n_shared_hits(event), 1);
    ck_assert_int_eq(etx_event_shared_hits(event)[0], 2);
    ck_assert_int_eq(etx_event_shared_particle_ids(event)[0], 900);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

/* Any order is kept by hit, then particle; new truth removes them. */
ETX_TEST(test_event_shared_hits)
{
    static const int32_t hits[] = {3, 2, 2};
    static const int64_t ids[] = {5, INT64_MAX, 900};
    scoped_event *event = make_event();

    ck_assert_ok(
        etx_event_set_truth(event, particle_ids, weights, 3, particles));
    ck_assert_ok(etx_event_set_shared_hits(event, 3, hits, ids));
    ck_assert_int_eq(etx_event_n_shared_hits(event), 3);
    for (int64_t k = 0; k < 3; k++) {
        ck_assert_int_eq(etx_event_shared_hits(event)[k], k == 2 ? 3 : 2);
        ck_assert_int_eq(etx_event_shared_particle_ids(event)[k],
            ((const int64_t[]){900, INT64_MAX, 5})[k]);
    }
    ck_assert_ok(etx_event_set_shared_hits(event, 0, NULL, NULL));
    ck_assert_int_eq(etx_event_n_shared_hits(event), 0);
    ck_assert_ok(etx_event_set_shared_hits(event, 3, hits, ids));
    ck_assert_ok(
        etx_event_set_truth(event, particle_ids, weights, 3, particles));
    ck_assert_int_eq(etx_event_n_shared_hits(event), 0);
    ck_assert_ptr_null(etx_event_shared_hits(event));
}

/* A signalling NaN is refused and does not trap. */
ETX_TEST(test_event_under_traps)
{
    const uint32_t signalling = 0x7fa00000;
    float values[3] = {1, 2, 3};
    etx_event *event = NULL;

    memcpy(values + 1, &signalling, sizeof signalling);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    ck_assert_refused(etx_event_create(&event, 1, NULL, values), "column 1");
    values[1] = NAN;
    ck_assert_refused(etx_event_create(&event, 1, NULL, values), "column 1");
    fedisableexcept(FE_ALL_EXCEPT);
}

/* --------------------------------------------------------------- index -- */

/* Dense and scattered ids, with and without duplicates, against a search. */
ETX_TEST(test_event_id_index)
{
    struct etx_random random;
    int64_t ids[50];

    etx_random_init(&random, 8, 0, 0);
    for (int round = 0; round < 400; round++) {
        const int64_t n = (int64_t)etx_random_below(&random, 50);
        const uint64_t spread = round % 4 == 0   ? UINT64_C(1) << 62
                                : round % 4 == 1 ? 100
                                                 : 3000;
        struct etx_id_index index;
        int64_t duplicate = -1;
        int64_t found = -1;

        for (int64_t i = 0; i < n; i++)
            ids[i] = (int64_t)etx_random_below(&random, spread) -
                     (round % 8 == 5 ? 50 : 0);
        if (round % 16 == 8 && n > 2) {
            ids[0] = INT64_MIN;
            ids[1] = INT64_MAX;
        }
        ck_assert_ok(etx_id_index_build(&index, n, ids));
        for (int64_t i = n - 1; i >= 0; i--) {
            int64_t last = i;

            for (int64_t j = i + 1; j < n; j++)
                last = ids[j] == ids[i] ? j : last;
            duplicate = last != i ? i : duplicate;
            ck_assert_int_eq(etx_id_index_find(&index, ids[i]), last);
        }
        ck_assert_ok(etx_id_index_duplicate(&found, &index, ids));
        ck_assert_int_eq(found, duplicate);
        for (int64_t id = -60; id < 60; id++) {
            int64_t last = -1;

            for (int64_t j = 0; j < n; j++)
                last = ids[j] == id ? j : last;
            ck_assert_int_eq(etx_id_index_find(&index, id), last);
        }
        etx_id_index_release(&index);
    }
}
