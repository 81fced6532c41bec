/* test_recorded.c -- what fixed inputs give, as numbers.
 *
 * Other tests say what must be true of a result. These notice that it is
 * another one: learned tables, tracks, fits and trainings. A change that is
 * meant to change results changes the numbers here; a failure prints the new
 * ones.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cylinders.h"
#include "train_bench.h"

#include "data/learned_table.h"
#include "stage/model.h"

#include <exatrkx/fit.h>
#include <exatrkx/train.h>
#include <math.h>
#include <string.h>

#define N_RECORDED 4

/* Of this row of numbers, of which those that are 0 apply to nothing. */
static void assert_recorded(
    const double *found, const double *expected, double tolerance)
{
    for (int k = 0; k < N_RECORDED; k++)
        ck_assert_msg(
            fabs(found[k] - expected[k]) <= tolerance * fabs(expected[k]),
            "{%.9g, %.9g, %.9g, %.9g}", found[0], found[1], found[2], found[3]);
}

/* Changes when values are exchanged, too. */
static void add(double *sum, int64_t k, double value)
{
    *sum += (double)(1 + k % 7) * value;
}

/* A small model and an event of the detector of cylinders.h, or the detector of
 * TrackML, with barrels and discs. */
static void open_input(etx_model **model, etx_event **event, const char *name)
{
    if (name != NULL) {
        scoped_model *shipped = NULL;

        etx_test_open_example(&shipped, event, name);
    } else {
        scoped struct sample *sample = new_displaced_sample(1, 5.0f);

        overlap_modules(sample);
        *event = event_of(sample);
    }
    *model = io_model_make(io_model_small);
}

/* What a model without tables learned from the event: all tables. */
static etx_model *learn(const char *name, const etx_module_map_options *map)
{
    scoped_model *start = NULL;
    scoped_event *event = NULL;
    scoped_model *completed = NULL;
    scoped_model *mapped = NULL;
    etx_model *model = NULL;

    open_input(&start, &event, name);
    const etx_event *const events[] = {event};
    ck_assert_ok(
        etx_model_learn_completion(&completed, start, 1, events, NULL));
    ck_assert_ok(
        etx_model_learn_module_map(&mapped, completed, 1, events, map));
    ck_assert_ok(etx_model_learn_first_pass(&model, mapped, 1, events, NULL));
    return model;
}

/* Its whole numbers and its floats. */
static void sum_table(double *sum, const void *table)
{
    const struct etx_table_kind *const kind = etx_table_kind_of(table);

    for (int32_t a = 0; a < kind->n_arrays; a++) {
        const struct etx_table_array *const array = &kind->array[a];
        const int64_t n = etx_table_n_rows(table, array) * array->n_columns;
        const void *const values = etx_table_values(table, array);

        for (int64_t k = 0; k < n; k++)
            if (array->is_real)
                add(&sum[1], k, (double)((const float *)values)[k]);
            else
                add(&sum[0], k, (double)((const int64_t *)values)[k]);
    }
}

static const struct {
    const char *event;
    etx_module_map_options map;
    double completion[N_RECORDED], first_pass[N_RECORDED], map_sum[N_RECORDED];
} learned[] = {
    {NULL, {.units = ETX_MAP_MODULES, .use_triplets = 1, .margin = 3.0f},
        {1583, 2975.17455}, {84, 744.766922}, {1724261, 1410.11387}},
    {"event000000001", {.units = ETX_MAP_LAYERS, .tail = 0.02f, .min_pt = 0.6f},
        {56473, 179.363209}, {2033, 156.684921}, {17711, 73293.2805}},
    {"event000000001", {.units = ETX_MAP_LAYERS, .use_triplets = 1},
        {56473, 179.363209}, {2033, 156.684921}, {95539, 7178656.58}},
};

ETX_TEST(test_recorded_tables, .rows = ROWS(learned))
{
    etx_module_map_options map = learned[_i].map;
    double sum[3][N_RECORDED] = {{0}};

    map.struct_size = sizeof map;
    scoped_model *model = learn(learned[_i].event, &map);
    sum_table(sum[0], model->completion);
    sum_table(sum[1], model->first_pass);
    sum_table(sum[2], model->module_map);
    assert_recorded(sum[0], learned[_i].completion, 1e-6);
    assert_recorded(sum[1], learned[_i].first_pass, 1e-6);
    assert_recorded(sum[2], learned[_i].map_sum, 1e-6);
}

/* Tracks, their hits and which. */
static void sum_tracks(double *sum, const etx_tracks *tracks)
{
    const int64_t n_tracks = etx_tracks_count(tracks);
    const int64_t n = etx_tracks_offsets(tracks)[n_tracks];

    sum[0] = (double)n_tracks;
    sum[1] = (double)n;
    for (int64_t k = 0; k < n; k++)
        add(&sum[2], k, etx_tracks_hits(tracks)[k]);
}

/* Tables learned here, of barrels; or those that ship, with discs. */
static void open_finder(etx_model **model, etx_event **event, const char *name)
{
    scoped_model *small = NULL;

    if (name != NULL) {
        etx_test_open_example(model, event, name);
    } else {
        *model = learn(NULL, NULL);
        open_input(&small, event, NULL);
    }
}

static const struct {
    const char *event;
    double first[N_RECORDED], completed[N_RECORDED], fresh[N_RECORDED];
} finders[] = {
    {NULL, {294, 2780, 16533492}, {300, 2917, 17465580}, {300, 2871, 17178356}},
    {"event000000002", {556, 6713, 135268154}, {655, 7754, 153563550},
        {573, 6138, 127383964}},
};

ETX_TEST(test_recorded_tracks, .rows = ROWS(finders))
{
    scoped_context *context = etx_test_context();
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_tracks *none = NULL;
    scoped_tracks *first = NULL;
    scoped_tracks *completed = NULL;
    scoped_tracks *fresh = NULL;
    double sum[3][N_RECORDED] = {{0}};

    open_finder(&model, &event, finders[_i].event);
    const int64_t n = etx_event_n_hits(event);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    memset(label, -1, (size_t)n * sizeof *label);
    ck_assert_ok(etx_tracks_from_labels(&none, n, label));
    ck_assert_ok(etx_find_long_tracks(&first, context, model, event, NULL));
    ck_assert_ok(
        etx_complete_tracks(&completed, first, context, model, event, NULL));
    ck_assert_ok(
        etx_complete_tracks(&fresh, none, context, model, event, NULL));
    sum_tracks(sum[0], first);
    sum_tracks(sum[1], completed);
    sum_tracks(sum[2], fresh);
    assert_recorded(sum[0], finders[_i].first, 0.0);
    assert_recorded(sum[1], finders[_i].completed, 0.0);
    assert_recorded(sum[2], finders[_i].fresh, 0.0);
}

/* Fits of tracks of the shipped event: all parameters, errors, chi2, counts. */
ETX_TEST(test_recorded_fits)
{
    static const double expected[N_RECORDED] = {
        -6647.2591, 8217.83981, 47465.5907, 7721760};
    scoped_context *context = etx_test_context();
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_tracks *tracks = NULL;
    scoped_detector *detector = NULL;
    double sum[N_RECORDED] = {0};
    etx_fit_options options;

    open_finder(&model, &event, "event000000002");
    ck_assert_ok(
        etx_detector_read(&detector, etx_test_example("detectors.csv.gz")));
    ck_assert_ok(etx_find_long_tracks(&tracks, context, model, event, NULL));
    const int64_t n = etx_tracks_count(tracks);
    scoped etx_track_parameters *fit = etx_test_alloc(n, sizeof *fit);
    ck_assert_ok(etx_fit_options_init(&options, sizeof options));
    options.max_hit_chi2 = 12.0f;
    ck_assert_ok(etx_fit_tracks(
        fit, NULL, tracks, context, model, event, detector, &options));
    for (int64_t t = 0; t < n; t++) {
        add(&sum[0], t,
            fit[t].d0 + fit[t].z0 + fit[t].phi + fit[t].theta +
                fit[t].q_over_pt);
        for (int64_t k = 0; k < 25; k++)
            add(&sum[1], k, fit[t].covariance[k]);
        add(&sum[2], t, fit[t].chi2);
        add(&sum[3], t,
            fit[t].n_degrees + 100 * fit[t].n_holes + 1e4 * fit[t].n_outliers);
    }
    assert_recorded(sum, expected, 1e-6);
}

/* Loss and gradient of the fifth step, efficiency and purity of a validation
 * after it. */
static const struct {
    int stage;
    const char *change;
    double report[N_RECORDED];
} trainings[] = {
    {ETX_TRAIN_EMBEDDING, NULL,
        {0.304633366, 0.673814408, 0.902735562, 0.141250562}},
    {ETX_TRAIN_EMBEDDING,
        "{'loss': {'hinge': 'distance', 'margin': 0.2, 'positive_weight': 2},"
        " 'sampling': {'queries': 40, 'queries_from': 'signal',"
        " 'random_from_queries': true, 'count_true_twice': true}}",
        {0.00369297996, 0.0136597614, 0.902735562, 0.284936479}},
    {ETX_TRAIN_EMBEDDING,
        "{'sampling': {'neighbours': 10, 'other': 5, 'pool': 100,"
        " 'queries_from': 'no_noise'}, 'truth': {'pairs': 'any',"
        " 'min_pt': 0.7}}",
        {0.781885389, 0.456785829, 0.900579151, 0.126541275}},
    {ETX_TRAIN_EMBEDDING,
        "{'augmentation': {'reflect_z': true, 'reflect_x': true,"
        " 'drop_hits': 0.1}, 'sampling': {'eta_window': 0.4}}",
        {0.22305249, 0.377603191, 0.902735562, 0.146728972}},
    {ETX_TRAIN_FILTER, NULL,
        {0.676470998, 0.300083544, 0.814589666, 0.300322928}},
    {ETX_TRAIN_FILTER,
        "{'sampling': {'edges': 100, 'false_per_true': 2, 'hard_share': 0.5,"
        " 'hard_cut': 0.3}, 'loss': {'reduction': 'balanced'}}",
        {0.610406627, 0.103822219, 0.814589666, 0.432061069}},
    {ETX_TRAIN_FILTER,
        "{'sampling': {'edges': 100, 'chunk_edges': 30, 'graphs': 2,"
        " 'order': 'epochs'}, 'loss': {'focal_gamma': 2}}",
        {0.170260756, 0.125434121, 0.814589666, 0.299145299}},
    {ETX_TRAIN_GNN, NULL, {0.727138395, 0.611412954, 0.73556231, 0.396875}},
    {ETX_TRAIN_GNN,
        "{'loss': {'hit_weight': 2, 'average': 'graphs'},"
        " 'sampling': {'graphs': 2, 'edges': 200}}",
        {0.605043198, 0.449348869, 0.73556231, 0.409967846}},
    {ETX_TRAIN_GNN,
        "{'model': {'options': {'hidden': 8, 'n_iterations': 2,"
        " 'pt_layers': 2}}, 'loss': {'pt_weight': 0.5, 'pt_target':"
        " 'inverse'}}",
        {0.909784694, 0.528564046, 0.73556231, 0.378539493}},
    {ETX_TRAIN_GNN,
        "{'truth': {'min_pt': 0.7, 'low_pt_weight': 0.2, 'drop_noise': true,"
        " 'same_particle': 'true', 'first_weight': 3, 'min_hits': 3},"
        " 'loss': {'reduction': 'equal'}, 'validation': {'criterion': 'auc'}}",
        {1.32266804, 0.203135409, 0.791505792, 0.48627451}},
    {ETX_TRAIN_GNN,
        "{'schedule': {'decay': 'step', 'decay_every': 2, 'decay_factor': 0.5},"
        " 'optimiser': {'weight_decay': 0.1, 'gradient_clip': 0.1,"
        " 'amsgrad': true}, 'loss_scaling': {'initial': 1024,"
        " 'double_every': 2}}",
        {0.702635124, 0.632996103, 0.73556231, 0.374631268}},
};

ETX_TEST(test_recorded_trainings, .rows = ROWS(trainings))
{
    etx_training_report report = {.struct_size = sizeof report};
    scoped_bench bench;

    train_bench_open_in(&bench, etx_test_context_level(1, ETX_CPU_REF),
        trainings[_i].stage, trainings[_i].change);
    for (int k = 0; k < 5; k++)
        ck_assert_ok(etx_trainer_step(&report, bench.trainer));
    const etx_training_report end = train_bench_validate(bench.trainer);
    const double numbers[N_RECORDED] = {
        report.loss, report.gradient_norm, end.efficiency, end.purity};
    assert_recorded(numbers, trainings[_i].report, 1e-4);
}
