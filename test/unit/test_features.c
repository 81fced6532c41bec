/* test_features.c -- cell features and node features of hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */
#include "support.h"

#include "base/heap.h"
#include "data/detector.h"
#include "data/hit_features.h"
#include "npz.h"
#include "stage/stage.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TRAPS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

/* Two modules: one with the frame of the world, one on its side. */
static struct etx_detector_module modules[] = {
    {.volume_id = 7,
        .layer_id = 2,
        .module_id = 1,
        .rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1},
        .half_thickness = 0.15f,
        .pitch_u = 0.05f,
        .pitch_v = 0.1f},
    {.volume_id = 8,
        .layer_id = 2,
        .module_id = 1,
        .rotation = {0, 0, 1, 1, 0, 0, 0, 1, 0},
        .half_thickness = 0.25f,
        .pitch_u = 0.05f,
        .pitch_v = 0.1f},
};

static struct etx_detector detector = {.n_modules = 2, .modules = modules};

/* Three hits on the axes, the last one in no module. */
static etx_event *make_event(void)
{
    static const float positions[] = {30, 0, 0, 0, 40, 20, -50, 0, 1000};
    static const int32_t volume[] = {7, 8, 9};
    static const int32_t layer[] = {2, 2, 2};
    static const int32_t module[] = {1, 1, 1};
    etx_event *event = NULL;

    ck_assert_ok(etx_event_create(&event, 3, NULL, positions));
    ck_assert_ok(etx_event_set_modules(event, volume, layer, module));
    return event;
}

static void assert_close(float value, double expected)
{
    ck_assert_msg(
        fabs((double)value - expected) <= 1e-6 * (1.0 + fabs(expected)),
        "%.9g is not %.9g", (double)value, expected);
}

ETX_TEST(test_features_cells)
{
    scoped_event *event = make_event();
    static const int32_t hit[] = {1, 0, 1, 0, 1};
    static const int32_t channel0[] = {10, 3, 12, 4, 11};
    static const int32_t channel1[] = {7, 5, 7, 5, 7};
    static const float value[] = {0.5f, 0.25f, 1.0f, 0.125f, 2.0f};

    ck_assert_ptr_null(etx_event_cell_features(event));
    ck_assert_ok(etx_event_set_cells(
        event, 5, hit, channel0, channel1, value, &detector));
    const float *cells = etx_event_cell_features(event);

    /* Local and global frame agree: u 2 * 0.05, v 0.1, w 0.3. */
    const double eta = -log(tan(acos(0.3 / sqrt(0.02 + 0.09)) / 2.0));
    assert_close(cells[0], 2.0);
    assert_close(cells[1], 0.375);
    assert_close(cells[2], eta);
    assert_close(cells[3], atan2(0.1, 0.1));
    assert_close(cells[4], 0.1);
    assert_close(cells[5], 0.1);
    assert_close(cells[6], 0.3);
    assert_close(cells[7], eta);
    assert_close(cells[8], atan2(0.1, 0.1));

    /* u 0.15, v 0.1, w 0.5; x = w, y = u, z = v. */
    const double norm = sqrt(0.0225 + 0.01 + 0.25);
    assert_close(cells[9], 3.0);
    assert_close(cells[10], 3.5);
    assert_close(cells[11], -log(tan(acos(0.5 / norm) / 2.0)));
    assert_close(cells[12], atan2(0.1, 0.15));
    assert_close(cells[16], -log(tan(acos(0.1 / norm) / 2.0)));
    assert_close(cells[17], atan2(0.15, 0.5));

    for (int k = 18; k < 27; k++) /* no cells */
        ck_assert_float_eq(cells[k], 0.0f);
}

/* Of 2000 cells, few of them different, each counts once; two values in one
 * channel are two deposits. */
ETX_TEST(test_features_cells_repeated)
{
    enum { N = 2000 };
    static const int32_t ends[] = {INT32_MIN, -1, 0, INT32_MAX};
    scoped_event *event = make_event();
    scoped_event *without = make_event();
    int32_t hit[N], kept_hit[N], channel[2][N], kept_channel[2][N];
    float value[N], kept_value[N];
    uint32_t state = 1;
    int64_t n_kept = 0;

    for (int64_t k = 0; k < N; k++) {
        int is_new = 1;

        state = state * 1664525u + 1013904223u;
        hit[k] = (int32_t)(state >> 31);
        channel[0][k] = ends[state >> 20 & 3];
        channel[1][k] = ends[state >> 24 & 3] ^ (int32_t)(state >> 28 & 1);
        value[k] = (float)(state >> 16 & 1);
        for (int64_t j = 0; j < n_kept; j++)
            is_new = is_new && (kept_hit[j] != hit[k] ||
                                   kept_channel[0][j] != channel[0][k] ||
                                   kept_channel[1][j] != channel[1][k] ||
                                   kept_value[j] != value[k]);
        if (!is_new)
            continue;
        kept_hit[n_kept] = hit[k];
        kept_channel[0][n_kept] = channel[0][k];
        kept_channel[1][n_kept] = channel[1][k];
        kept_value[n_kept++] = value[k];
    }
    ck_assert_int_eq(n_kept, 2 * 4 * 8 * 2);
    ck_assert_ok(etx_event_set_cells(
        event, N, hit, channel[0], channel[1], value, &detector));
    ck_assert_int_eq(event->n_repeated_cells, N - n_kept);
    ck_assert_ok(etx_event_set_cells(without, n_kept, kept_hit, kept_channel[0],
        kept_channel[1], kept_value, &detector));
    ck_assert_float_eq(etx_event_cell_features(event)[0], 64.0f);
    ck_assert_mem_eq(etx_event_cell_features(event),
        etx_event_cell_features(without),
        3 * ETX_N_CELL_FEATURES * sizeof(float));
}

/* A network that was trained to do without cells gets zeros. */
ETX_TEST(test_features_without_cells)
{
    struct etx_feature_list list = {.n_features = 3,
        .feature = {{etx_hit_feature_find("z"), 2.0f},
            {etx_hit_feature_find("log_cell_count"), 1.0f},
            {etx_hit_feature_find("lx"), 0.1f}}};
    const float position[6] = {1, 2, 3, 4, 5, 6};
    const float wanted[6] = {1.5f, 0.0f, 0.0f, 3.0f, 0.0f, 0.0f};
    float out[6];
    scoped_event *bare = NULL;

    ck_assert_ok(etx_event_create(&bare, 2, NULL, position));
    ck_assert_refused(
        etx_hit_features(out, NULL, bare, &list), "log_cell_count");
    list.cells_optional = 1;
    ck_assert_ok(etx_hit_features(out, NULL, bare, &list));
    ck_assert_mem_eq(out, wanted, sizeof out);
}

ETX_TEST(test_features_cells_refused)
{
    scoped_event *event = make_event();
    scoped_event *bare = NULL;
    int32_t hit = 0;
    int32_t channel = 0;
    float value = 1.0f;
    const float position[3] = {1, 2, 3};

    ck_assert_ok(etx_event_create(&bare, 1, NULL, position));
    ck_assert_refused(etx_event_set_cells(
                          bare, 1, &hit, &channel, &channel, &value, &detector),
        "etx_event_set_modules");

#define SET()                                                                  \
    etx_event_set_cells(event, 1, &hit, &channel, &channel, &value, &detector)
    hit = 2;
    ck_assert_refused(SET(), "volume 9, layer 2, module 1");
    hit = 3;
    ck_assert_refused(SET(), "hit 3 is not in 0..2");
    hit = -1;
    ck_assert_refused(SET(), "hit -1");
    hit = 0;
    value = NAN;
    ck_assert_refused(SET(), "value row 0");
#undef SET
    value = 1.0f;
    ck_assert_refused(etx_event_set_cells(event, -1, &hit, &channel, &channel,
                          &value, &detector),
        "n_cells -1");
    ck_assert_fails(etx_event_set_cells(event, INT64_C(1) << 31, &hit, &channel,
                        &channel, &value, &detector),
        ETX_ERR_LIMIT, "n_cells 2147483648");
    ck_assert_ptr_null(etx_event_cell_features(event));
}

/* Channels and charges as large as they come, under traps. */
ETX_TEST(test_features_cells_extreme)
{
    scoped_event *event = make_event();
    const int32_t hit[] = {0, 0, 1, 1};
    const int32_t channel[] = {INT32_MIN, INT32_MAX, 0, 1};
    const float value[] = {FLT_MAX, FLT_MAX, 1e-45f, -0.0f};

    feenableexcept(TRAPS);
    ck_assert_ok(
        etx_event_set_cells(event, 4, hit, channel, channel, value, &detector));
    fedisableexcept(FE_ALL_EXCEPT);
    const float *cells = etx_event_cell_features(event);
    for (int k = 0; k < 18; k++)
        ck_assert(isfinite(cells[k]));
    ck_assert_float_eq(cells[1], ETX_MAX_HIT_VALUE);
    assert_close(cells[4], 4294967296.0 * (double)0.05f);
}

/* The nine features, and r / 1000, phi / pi, z / 1000, as the authors' code
 * computes them on a real event. */
ETX_TEST(test_features_upstream)
{
    static const char *const columns[] = {"cell_count", "cell_val", "leta",
        "lphi", "lx", "ly", "lz", "geta", "gphi", "r", "phi", "z"};
    struct etx_npz_array expected, hit_ids;
    struct etx_feature_list list = {.n_features = 12};
    char folder[1024];
    char path[1200];
    scoped_detector *real = NULL;
    scoped_event *event = NULL;

    const char *found = etx_test_reference(
        "test_features_upstream", "trackml_event/detectors.csv.gz");
    if (found == NULL)
        return;
    snprintf(folder, sizeof folder, "%.*s",
        (int)(strlen(found) - strlen("trackml_event/detectors.csv.gz")), found);
    ck_assert_ok(etx_detector_read(&real, found));
    ck_assert_int_eq(etx_detector_n_modules(real), 18728);
    snprintf(path, sizeof path, "%strackml_event/event000000001", folder);
    ck_assert_ok(etx_event_read_trackml(&event, path, real));
    snprintf(path, sizeof path,
        "%sexatrkx_models/features12_event000000001_upstream_code.npz", folder);
    etx_npz_read(&expected, path, "F", "<f4");
    etx_npz_read(&hit_ids, path, "hit_id", "<i4");

    const int64_t n = etx_event_n_hits(event);
    ck_assert_int_eq(expected.shape[0], n);
    ck_assert_int_eq(expected.shape[1], 12);
    for (int32_t k = 0; k < 12; k++) {
        list.feature[k].id = etx_hit_feature_find(columns[k]);
        list.feature[k].scale = k == 9 || k == 11 ? 1000.0f
                                : k == 10         ? 3.14159265f
                                                  : 1.0f;
    }
    scoped float *features = etx_test_alloc(n * 12, sizeof *features);
    ck_assert_ok(etx_hit_features(features, NULL, event, &list));

    const float *judge = expected.values;
    for (int64_t i = 0; i < n; i++) {
        ck_assert_int_eq(
            etx_event_hit_ids(event)[i], ((const int32_t *)hit_ids.values)[i]);
        for (int k = 0; k < 12; k++) {
            const double value = (double)features[i * 12 + k];
            const double wanted = (double)judge[i * 12 + k];
            const double error =
                fabs(value - wanted) / fmax(fabs(wanted), 0.01);

            ck_assert_msg(error < 1e-4, "hit %d, %s: %.9g is not %.9g", (int)i,
                columns[k], value, wanted);
        }
    }
    etx_npz_release(&expected);
    etx_npz_release(&hit_ids);
}

/* --------------------------------------------------------- hit features -- */

ETX_TEST(test_features_names)
{
    static const char *const all[] = {"r", "phi", "z", "cos_phi", "sin_phi",
        "eta", "x", "y", "R", "log_cell_count", "cell_count", "cell_val",
        "leta", "lphi", "lx", "ly", "lz", "geta", "gphi", "cluster_x_1",
        "cluster_y_1", "cluster_z_1", "cluster_r_1", "cluster_phi_1",
        "cluster_eta_1", "cluster_x_2", "cluster_y_2", "cluster_z_2",
        "cluster_r_2", "cluster_phi_2", "cluster_eta_2"};

    for (size_t k = 0; k < ROWS(all); k++) {
        const int32_t id = etx_hit_feature_find(all[k]);

        ck_assert_int_ge(id, 0);
        ck_assert_str_eq(etx_hit_feature_name(id), all[k]);
    }
    ck_assert_int_eq(etx_hit_feature_find(""), -1);
    ck_assert_int_eq(etx_hit_feature_find("rr"), -1);
    ck_assert_str_eq(etx_hit_feature_name(-1), "unknown");
    ck_assert_str_eq(etx_hit_feature_name(31), "unknown");
}

/* A list of the position features, all with scale 1. */
static struct etx_feature_list position_list(void)
{
    static const char *const names[] = {
        "r", "phi", "z", "cos_phi", "sin_phi", "eta", "x", "y", "R"};
    struct etx_feature_list list = {.n_features = 9};

    for (int32_t k = 0; k < 9; k++)
        list.feature[k] =
            (struct etx_feature){etx_hit_feature_find(names[k]), 1.0f};
    return list;
}

static const struct {
    float position[3];
    double expected[9];
} positions[] = {
    {{3, 4, 12},
        {5, 0.9272952180016122, 12, 0.6, 0.8, 1.6094379124341003, 3, 4, 13}},
    {{-1, 0, 0}, {1, 3.141592653589793, 0, -1, 0, 0, -1, 0, 1}},
    {{0, -2, 0}, {2, -1.5707963267948966, 0, 0, -1, 0, 0, -2, 2}},
    {{0, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 0}},
    {{0, 0, 5}, {0, 0, 5, 1, 0, 20, 0, 0, 5}},
    {{0, 0, -5}, {0, 0, -5, 1, 0, -20, 0, 0, 5}},
};

ETX_TEST(test_features_positions, .rows = ROWS(positions))
{
    const struct etx_feature_list list = position_list();
    scoped_event *event = NULL;
    float features[9];

    ck_assert_ok(etx_event_create(&event, 1, NULL, positions[_i].position));
    ck_assert_ok(etx_hit_features(features, NULL, event, &list));
    for (int k = 0; k < 9; k++)
        assert_close(features[k], positions[_i].expected[k]);
}

/* Whatever the position and the scale, under traps: finite. */
ETX_TEST(test_features_extreme)
{
    static const float sizes[] = {
        0.0f, -0.0f, 1e-45f, -1e-38f, 1e5f, -1e5f, 1e9f, -1e9f};
    static const float scales[] = {1.0f, 1e-30f, 1e30f, -1000.0f};
    struct etx_feature_list list = position_list();

    feenableexcept(TRAPS);
    for (int code = 0; code < 512; code++)
        for (int s = 0; s < 4; s++) {
            const float position[3] = {
                sizes[code & 7], sizes[code >> 3 & 7], sizes[code >> 6]};
            scoped_event *event = NULL;
            float features[9];

            for (int k = 0; k < 9; k++)
                list.feature[k].scale = scales[s];
            ck_assert_ok(etx_event_create(&event, 1, NULL, position));
            ck_assert_ok(etx_hit_features(features, NULL, event, &list));
            for (int k = 0; k < 9; k++)
                ck_assert(isfinite(features[k]));
        }
    fedisableexcept(FE_ALL_EXCEPT);
}

/* Positions of clusters give what the hit's own gives. */
ETX_TEST(test_features_clusters)
{
    static const char *const names[] = {"cluster_x_1", "cluster_y_1",
        "cluster_z_1", "cluster_r_1", "cluster_phi_1", "cluster_eta_1",
        "cluster_x_2", "cluster_y_2", "cluster_z_2", "cluster_r_2",
        "cluster_phi_2", "cluster_eta_2", "x"};
    static const float hits[] = {1, 1, 1, 2, 2, 2};
    static const float clusters[] = {0, 0, 0, 0, 0, 0, 3, 4, 12, 0, -2, 0};
    static const double expected[] = {3, 4, 12, 5, 0.9272952180016122,
        1.6094379124341003, 0, -2, 0, 2, -1.5707963267948966, 0, 2};
    struct etx_feature_list list = {.n_features = 13};
    scoped_event *event = NULL;
    float features[26], wrong[12] = {0};

    for (int32_t k = 0; k < 13; k++)
        list.feature[k] =
            (struct etx_feature){etx_hit_feature_find(names[k]), 1.0f};
    ck_assert_ok(etx_event_create(&event, 2, NULL, hits));
    ck_assert_refused(etx_hit_features(features, NULL, event, &list),
        "cluster_x_1, but the event has no cluster positions");
    wrong[7] = NAN;
    ck_assert_refused(
        etx_event_set_cluster_positions(event, wrong), "positions row 1");
    ck_assert_ptr_null(etx_event_cluster_positions(event));
    ck_assert_ok(etx_event_set_cluster_positions(event, clusters));
    ck_assert_mem_eq(
        etx_event_cluster_positions(event), clusters, sizeof clusters);
    ck_assert_ok(etx_hit_features(features, NULL, event, &list));
    for (int k = 0; k < 13; k++)
        assert_close(features[13 + k], expected[k]);

    const int32_t row = 1;
    scoped_event *second = NULL;
    ck_assert_ok(etx_event_select(&second, event, &row, 1));
    ck_assert_ok(etx_hit_features(features, NULL, second, &list));
    assert_close(features[0], 3);
}

ETX_TEST(test_features_scaled)
{
    const float position[3] = {300, 400, -500};
    struct etx_feature_list list = {.n_features = 2,
        .feature = {{etx_hit_feature_find("r"), 1000.0f},
            {etx_hit_feature_find("z"), 250.0f}}};
    scoped_event *event = NULL;
    float features[2];

    ck_assert_ok(etx_event_create(&event, 1, NULL, position));
    ck_assert_ok(etx_hit_features(features, NULL, event, &list));
    ck_assert_float_eq(features[0], 0.5f);
    ck_assert_float_eq(features[1], -2.0f);
}

/* Features of cells in any order, of a hit without cells and of one with them.
 */
ETX_TEST(test_features_of_cells)
{
    static const char *const names[] = {"gphi", "cell_count", "lx", "cell_val",
        "geta", "leta", "lphi", "ly", "lz", "log_cell_count"};
    static const float at[6] = {1, 2, 3, 4, 5, 6};
    static const float cells[18] = {
        0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const float expected[10] = {
        4.5f, 0.5f, 2.5f, 1, 4, 1.5f, 2, 3, 3.5f, 0.34657359f /* log(2) / 2 */};
    struct etx_feature_list list = {.n_features = 10};
    scoped_event *event = etx_test_event(2, at);
    float features[20];

    for (int k = 0; k < 10; k++) {
        list.feature[k].id = etx_hit_feature_find(names[k]);
        list.feature[k].scale = 2.0f;
    }
    ck_assert_ok(etx_event_set_cell_features(event, cells));
    ck_assert_ok(etx_hit_features(features, NULL, event, &list));
    for (int k = 0; k < 10; k++) {
        assert_close(features[k], 0.0);
        assert_close(features[10 + k], (double)expected[k]);
    }
}

ETX_TEST(test_features_own)
{
    const float position[3] = {1, 2, 3};
    const float own[2] = {7.5f, -8.5f};
    struct etx_feature_list list = {.n_features = 2,
        .feature = {{etx_hit_feature_find("r"), 1.0f},
            {etx_hit_feature_find("cell_count"), 1.0f}}};
    scoped_event *event = NULL;
    float features[3] = {1, 1, 1};

    ck_assert_ok(etx_event_create(&event, 1, NULL, position));
    ck_assert_refused(
        etx_hit_features(features, NULL, event, &list), "cell_count");
    list.feature[1].id = etx_hit_feature_find("log_cell_count");
    ck_assert_refused(
        etx_hit_features(features, NULL, event, &list), "log_cell_count");
    list.feature[1].id = 31;
    ck_assert_refused(etx_hit_features(features, NULL, event, &list), "31");
    ck_assert_float_eq(features[0], 1.0f);

    ck_assert_ok(etx_event_set_features(event, 2, own));
    ck_assert_ok(etx_hit_features(features, NULL, event, &list));
    ck_assert_mem_eq(features, own, sizeof own);
    list.n_features = 3;
    ck_assert_refused(etx_hit_features(features, NULL, event, &list),
        "needs 3 features, but the event has 2");
}

ETX_TEST(test_features_detector)
{
    ck_assert_ptr_eq(etx_detector_find(&detector, 7, 2, 1), &modules[0]);
    ck_assert_ptr_eq(etx_detector_find(&detector, 8, 2, 1), &modules[1]);
    ck_assert_ptr_null(etx_detector_find(&detector, 7, 2, 2));
    ck_assert_ptr_null(etx_detector_find(&detector, 6, 2, 1));
    ck_assert_ptr_null(etx_detector_find(&detector, 9, 2, 1));
    ck_assert_int_eq(etx_detector_n_modules(&detector), 2);
    ck_assert_int_eq(etx_detector_n_modules(NULL), 0);
    etx_detector_free(NULL);
}

/* Cached features are found for an equal list alone, until the cache is clear.
 */
ETX_TEST(test_features_cached)
{
    const struct etx_feature r = {etx_hit_feature_find("r"), 10.0f};
    const struct etx_feature z = {etx_hit_feature_find("z"), 5.0f};
    const struct etx_model_stage stage = {.node_features = {2, {r, z}}};
    struct etx_model_stage others[3] = {stage, stage, stage};
    scoped_event *event = make_event();
    scoped_context *context = NULL;
    const float *cached = NULL;
    const float *found = NULL;

    ck_assert_ok(etx_context_create(&context, NULL));
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    others[0].node_features.feature[1].scale = 6.0f;
    others[1].node_features.feature[1].id = etx_hit_feature_find("x");
    others[2].node_features.n_features = 1;
    ck_assert_ok(etx_stage_cache_features(context, &stage, event));
    cached = context->event_cache.entry[0].value;
    ck_assert_ok(etx_stage_node_features(&found, context, &stage, event));
    ck_assert_ptr_eq(found, cached);
    for (int32_t k = 0; k < 3; k++) {
        ck_assert_ok(
            etx_stage_node_features(&found, context, &others[k], event));
        ck_assert_ptr_ne(found, cached);
        assert_close(found[0], 3.0);
    }
    etx_event_cache_clear(&context->event_cache);
    ck_assert_ok(etx_stage_node_features(&found, context, &stage, event));
    ck_assert_ptr_ne(found, cached);
    etx_arena_reset(context->stream->arena, mark);
}
