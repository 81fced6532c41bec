/* test_stop.c -- every call with a context ends soon after its cancel says so.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/fit.h>

#include "base/constants.h"
#include "fit_events.h"
#include "stop.h"
#include "train_bench.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#define N_COPIES     30 /* of an event that ships, turned about the beam line */
#define N_EVENTS     4  /* of a batch */
#define N_FIT_TRACKS 1500

/* What the entries work on; a run gets what it needs from the stages before. */
struct work {
    etx_context *context;
    etx_model *model, *map; /* that ships, and with a module map of it */
    etx_event *event;
    etx_graph *candidates, *graph; /* all, and those that the filter leaves */
    etx_graph *triplets;
    etx_tracks *tracks;
    etx_graph_part *part;
    float *scores;
    struct train_bench bench;
    struct fit_sample *sample;
    etx_event *fit_event;
    etx_tracks *fit_tracks;
};

static etx_status run_embed(void *argument)
{
    struct work *work = argument;
    const int64_t n_hits = etx_event_n_hits(work->event);
    int64_t n_dim = 0;
    scoped float *points = etx_test_alloc(n_hits * 64, sizeof *points);

    return etx_embed(
        &n_dim, points, n_hits * 64, work->context, work->model, work->event);
}

static etx_status run_build(void *argument)
{
    struct work *work = argument;
    scoped_graph *graph = NULL;

    return etx_graph_build(&graph, work->context, work->model, work->event);
}

static etx_status run_radius(void *argument)
{
    struct work *work = argument;
    scoped_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.radius = 100.0f;
    return etx_graph_build_radius(&graph, work->context,
        etx_event_n_hits(work->event), 3, etx_event_positions(work->event),
        work->event, &options);
}

static etx_status run_nearest(void *argument)
{
    struct work *work = argument;
    scoped_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.max_neighbours = 100;
    return etx_graph_build_knn(&graph, work->context,
        etx_event_n_hits(work->event), 3, etx_event_positions(work->event),
        work->event, &options);
}

static etx_status run_filter(void *argument)
{
    struct work *work = argument;
    scoped_graph *graph = NULL;

    return etx_graph_filter(
        &graph, work->candidates, work->context, work->model, work->event);
}

static etx_status run_triplets(void *argument)
{
    struct work *work = argument;
    scoped_graph *graph = NULL;

    return etx_graph_to_triplets(&graph, work->graph, work->context, INT32_MAX);
}

static etx_status run_module_map(void *argument)
{
    struct work *work = argument;
    scoped_graph *graph = NULL;

    return etx_graph_build_module_map(
        &graph, work->context, work->map, work->event, INT32_MAX);
}

static etx_status run_score_triplets(void *argument)
{
    struct work *work = argument;
    return etx_graph_score_triplets(
        work->triplets, work->graph, work->context, work->model, work->event);
}

static etx_status run_score(void *argument)
{
    struct work *work = argument;
    return etx_graph_score(
        work->graph, work->context, work->model, work->event);
}

static etx_status run_label(void *argument)
{
    struct work *work = argument;
    scoped_tracks *tracks = NULL;
    etx_label_options options;

    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    ck_assert_ok(etx_model_label_options(&options, work->model));
    return etx_graph_tracks(
        &tracks, work->graph, work->context, work->event, &options);
}

static etx_status run_group(void *argument)
{
    struct work *work = argument;
    scoped int32_t *label =
        etx_test_alloc(etx_event_n_hits(work->event), sizeof *label);

    return etx_graph_label(
        label, work->graph, work->context, work->event, NULL);
}

static etx_status run_complete(void *argument)
{
    struct work *work = argument;
    scoped_tracks *tracks = NULL;

    return etx_complete_tracks(
        &tracks, work->tracks, work->context, work->model, work->event, NULL);
}

static etx_status run_long_tracks(void *argument)
{
    struct work *work = argument;
    scoped_tracks *tracks = NULL;

    return etx_find_long_tracks(
        &tracks, work->context, work->model, work->event, NULL);
}

static etx_status run_find(void *argument)
{
    struct work *work = argument;
    scoped_tracks *tracks = NULL;

    return etx_find_tracks(&tracks, work->context, work->model, work->event);
}

static etx_status run_begin(void *argument)
{
    struct work *work = argument;
    scoped int32_t *label =
        etx_test_alloc(etx_event_n_hits(work->event), sizeof *label);
    int64_t n_tracks = 0;

    return etx_find_tracks_begin(
        label, &n_tracks, work->context, work->model, work->event);
}

/* As if the networks had found nothing. */
static etx_status run_end(void *argument)
{
    struct work *work = argument;
    const int64_t n = etx_event_n_hits(work->event);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    scoped_tracks *tracks = NULL;

    memset(label, -1, (size_t)n * sizeof *label);
    return etx_find_tracks_end(
        &tracks, label, 0, work->context, work->model, work->event);
}

static etx_status run_batch(void *argument)
{
    struct work *work = argument;
    const etx_event *event[N_EVENTS];
    etx_tracks *tracks[N_EVENTS] = {NULL};
    etx_status status;

    for (int k = 0; k < N_EVENTS; k++)
        event[k] = work->event;
    status = etx_find_tracks_batch(
        tracks, work->context, work->model, N_EVENTS, event);
    for (int k = 0; k < N_EVENTS; k++)
        etx_tracks_free(tracks[k]);
    return status;
}

static etx_status run_fit(void *argument)
{
    struct work *work = argument;
    scoped etx_track_parameters *out =
        etx_test_alloc(N_FIT_TRACKS, sizeof *out);
    etx_fit_options options;

    ck_assert_ok(etx_fit_options_init(&options, sizeof options));
    options.field = (float)FIT_FIELD;
    return etx_fit_tracks(out, NULL, work->fit_tracks, work->context, NULL,
        work->fit_event, &work->sample->detector, &options);
}

/* The only part: nothing is exchanged. */
static etx_status swap(void *user, float *received, const int64_t *n_received,
    const float *sent, const int64_t *n_sent)
{
    (void)user, (void)received, (void)n_received, (void)sent, (void)n_sent;
    return ETX_OK;
}

static etx_status run_part(void *argument)
{
    struct work *work = argument;
    const etx_part_exchange exchange = {
        .struct_size = sizeof exchange, .swap = swap};

    return etx_graph_part_score(work->scores, work->part, work->context,
        work->model, work->event, &exchange);
}

static etx_status run_step(void *argument)
{
    struct work *work = argument;
    etx_training_report report = {.struct_size = sizeof report};

    return etx_trainer_step(&report, work->bench.trainer);
}

static etx_status run_validate(void *argument)
{
    struct work *work = argument;
    etx_training_report report = {.struct_size = sizeof report};

    return etx_trainer_validate(&report, work->bench.trainer);
}

static etx_status run_add_event(void *argument)
{
    const struct work *work = argument;

    return etx_trainer_add_event(work->bench.trainer, work->bench.event[0], 0);
}

static etx_status run_save(void *argument)
{
    const struct work *work = argument;

    return etx_trainer_save_checkpoint(work->bench.trainer, train_bench_path());
}

static etx_status run_load(void *argument)
{
    const struct work *work = argument;

    return train_bench_load(work->bench.trainer);
}

static const struct stop_entry entries[] = {
    {"etx_embed", run_embed},
    {"etx_graph_build", run_build},
    {"etx_graph_build_radius", run_radius},
    {"etx_graph_build_knn", run_nearest},
    {"etx_graph_filter", run_filter},
    {"etx_graph_to_triplets", run_triplets},
    {"etx_graph_build_module_map", run_module_map},
    {"etx_graph_score", run_score},
    {"etx_graph_score_triplets", run_score_triplets},
    {"etx_graph_part_score", run_part},
    {"etx_graph_label", run_group},
    {"etx_graph_tracks", run_label},
    {"etx_complete_tracks", run_complete},
    {"etx_find_long_tracks", run_long_tracks},
    {"etx_find_tracks", run_find},
    {"etx_find_tracks_begin", run_begin},
    {"etx_find_tracks_end", run_end},
    {"etx_find_tracks_batch", run_batch},
    {"etx_fit_tracks", run_fit},
};

static const struct stop_entry training_entries[] = {
    {"etx_trainer_step", run_step},
    {"etx_trainer_validate", run_validate},
    {"etx_trainer_save_checkpoint", run_save},
    {"etx_trainer_load_checkpoint", run_load},
    {"etx_trainer_add_event", run_add_event},
};

static const int32_t thread_counts[] = {1, 2, 4, 16};
#define N_THREAD_COUNTS ROWS(thread_counts)

/* An event with the hits of another and of its copies, turned. */
static etx_event *turn_copies(const etx_event *of)
{
    const int64_t n = etx_event_n_hits(of);
    const float *position = etx_event_positions(of);
    const float *cells = etx_event_cell_features(of);
    const int32_t *ids[3] = {etx_event_volume_ids(of), etx_event_layer_ids(of),
        etx_event_module_ids(of)};
    scoped float *turned = etx_test_alloc(3 * n * N_COPIES, sizeof *turned);
    scoped float *features = etx_test_alloc(9 * n * N_COPIES, sizeof *features);
    scoped int32_t *copy = etx_test_alloc(3 * n * N_COPIES, sizeof *copy);
    etx_event *event = NULL;

    for (int64_t k = 0; k < n * N_COPIES; k++) {
        const double angle = 2.0 * ETX_PI * (double)(k / n) / N_COPIES;
        const double x = (double)position[3 * (k % n)];
        const double y = (double)position[3 * (k % n) + 1];

        turned[3 * k] = (float)(x * cos(angle) - y * sin(angle));
        turned[3 * k + 1] = (float)(x * sin(angle) + y * cos(angle));
        turned[3 * k + 2] = position[3 * (k % n) + 2];
        memcpy(features + 9 * k, cells + 9 * (k % n), 9 * sizeof *cells);
        for (int i = 0; i < 3; i++)
            copy[i * n * N_COPIES + k] = ids[i][k % n];
    }
    ck_assert_ok(etx_event_create(&event, n * N_COPIES, NULL, turned));
    ck_assert_ok(etx_event_set_modules(
        event, copy, copy + n * N_COPIES, copy + 2 * n * N_COPIES));
    ck_assert_ok(etx_event_set_cell_features(event, features));
    return event;
}

static void open_pipeline(struct work *work)
{
    scoped_event *small = NULL;
    scoped int32_t *owners = NULL;

    etx_test_open_example(&work->model, &small, "event000000001");
    work->event = turn_copies(small);
    ck_assert_ok(etx_model_learn_module_map(
        &work->map, work->model, 1, (const etx_event *const[]){small}, NULL));
    ck_assert_ok(etx_graph_build(
        &work->candidates, work->context, work->model, work->event));
    ck_assert_ok(etx_graph_filter(&work->graph, work->candidates, work->context,
        work->model, work->event));
    ck_assert_ok(etx_graph_to_triplets(
        &work->triplets, work->graph, work->context, INT32_MAX));
    ck_assert_ok(
        etx_graph_score(work->graph, work->context, work->model, work->event));
    ck_assert_ok(etx_find_tracks(
        &work->tracks, work->context, work->model, work->event));
    owners = etx_test_alloc(etx_event_n_hits(work->event), sizeof *owners);
    ck_assert_ok(etx_graph_part_create(&work->part, work->graph, owners, 1, 0));
    work->scores =
        etx_test_alloc(etx_graph_n_edges(work->graph), sizeof *work->scores);
    work->sample = new_fit_sample(N_FIT_TRACKS, 1.0, 0.02);
    work->fit_event = fit_event_of(work->sample);
    work->fit_tracks = fit_tracks_of(work->sample);
}

static void close_work(struct work *work)
{
    train_bench_close(&work->bench);
    etx_tracks_free(work->fit_tracks);
    etx_event_free(work->fit_event);
    free(work->sample);
    free(work->scores);
    etx_graph_part_free(work->part);
    etx_tracks_free(work->tracks);
    etx_graph_free(work->triplets);
    etx_graph_free(work->graph);
    etx_graph_free(work->candidates);
    etx_event_free(work->event);
    etx_model_free(work->map);
    etx_model_free(work->model);
}

ETX_TEST(test_stop, .rows = N_THREAD_COUNTS)
{
    struct work work = {0};

    work.context =
        etx_test_context_with(thread_counts[_i], 0, stop_is_late, NULL);
    open_pipeline(&work);
    stop_check(entries, ROWS(entries), &work, thread_counts[_i]);
    train_bench_open_in(&work.bench, work.context, 2,
        "{'model': {'options': {'hidden': 64, 'n_iterations': 8}}}");
    stop_check(
        training_entries, ROWS(training_entries), &work, thread_counts[_i]);
    train_bench_remove();
    close_work(&work);
}

/* --------------------------------------------------------------- labels -- */

#define N_LINKED 2000003 /* hits of tracks of 10, in no order */
#define N_ROW    10

struct labels {
    etx_context *context;
    etx_event *event;
    etx_graph *graph;
    int32_t *label;
    int32_t method;
};

static etx_status run_method(void *argument)
{
    const struct labels *labels = argument;
    etx_label_options options;

    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    options.method = labels->method;
    return etx_graph_label(
        labels->label, labels->graph, labels->context, labels->event, &options);
}

static int32_t row_of(int64_t hit)
{
    return (int32_t)(hit * 618034 % N_LINKED);
}

/* Edges to the next hit of a track and to the one after it. */
static void open_labels(struct labels *labels)
{
    scoped float *position = etx_test_alloc(3 * N_LINKED, sizeof *position);
    scoped int32_t *src = etx_test_alloc(2 * N_LINKED, sizeof *src);
    scoped int32_t *dst = etx_test_alloc(2 * N_LINKED, sizeof *dst);
    scoped float *score = etx_test_alloc(2 * N_LINKED, sizeof *score);
    int64_t n = 0;

    for (int64_t i = 0; i < N_LINKED; i++) {
        position[3 * row_of(i)] = (float)(i % N_ROW + 1);
        for (int64_t k = i + 1; k <= i + 2 && k < N_LINKED; k++)
            if (k / N_ROW == i / N_ROW) {
                src[n] = row_of(i);
                dst[n] = row_of(k);
                score[n++] = (float)(i * 7919 % 1000) / 2000.0f + 0.5f;
            }
    }
    ck_assert_ok(etx_event_create(&labels->event, N_LINKED, NULL, position));
    ck_assert_ok(etx_graph_from_edges(
        &labels->graph, N_LINKED, n, src, dst, score, NULL));
    labels->label = etx_test_alloc(N_LINKED, sizeof *labels->label);
}

ETX_TEST(test_stop_labels, .rows = 4)
{
    static const struct stop_entry entry = {"etx_graph_label", run_method};
    struct labels labels = {.method = _i};

    labels.context = etx_test_context_with(1, 0, stop_is_late, NULL);
    open_labels(&labels);
    stop_check(&entry, 1, &labels, 1);
    free(labels.label);
    etx_graph_free(labels.graph);
    etx_event_free(labels.event);
    etx_context_free(labels.context);
}
