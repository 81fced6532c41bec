/* test_stages.c -- the stages of the pipeline one by one, and graphs of points.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/random.h"
#include "io_models.h"
#include "job.h"
#include "stage/model.h"

#define SECOND_MODEL "examples/models/accurate.safetensors"

/* ------------------------------------------------------------ the whole -- */

ETX_TEST(test_stages_are_the_pipeline)
{
    scoped_job job = job_make();
    etx_label_options label;
    scoped_graph *graph = NULL;
    scoped_graph *kept = NULL;
    scoped_tracks *tracks = NULL;
    scoped_tracks *completed = NULL;
    etx_stage_timing timing[ETX_N_STAGES];

    job.model->first_pass_options.min_event_hits =
        INT32_MAX; /* networks alone */
    job_find(&job);
    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++) {
        timing[stage].struct_size = sizeof timing[stage];
        ck_assert_ok(etx_context_timing(&timing[stage], job.context, stage));
        if (stage == ETX_STAGE_FIRST_PASS)
            continue;
        ck_assert(timing[stage].seconds > 0.0);
        ck_assert_int_gt(timing[stage].peak_bytes, 0);
    }
    ck_assert(timing[ETX_STAGE_GNN].gflop > 0.0);
    ck_assert_ok(etx_graph_build(&graph, job.context, job.model, job.event));
    ck_assert_int_eq(etx_graph_n_edges(graph), timing[ETX_STAGE_GRAPH].n_edges);
    ck_assert_ok(
        etx_graph_filter(&kept, graph, job.context, job.model, job.event));
    ck_assert_int_eq(etx_graph_n_edges(kept), timing[ETX_STAGE_FILTER].n_edges);
    ck_assert_ok(etx_graph_score(kept, job.context, job.model, job.event));
    ck_assert_ok(etx_label_options_init(&label, sizeof label));
    ck_assert_ok(etx_model_label_options(&label, job.model));
    ck_assert_ok(
        etx_graph_tracks(&tracks, kept, job.context, job.event, &label));
    ck_assert_ok(etx_complete_tracks(
        &completed, tracks, job.context, job.model, job.event, NULL));
    job_assert_same_tracks(job.tracks, completed);
}

/* An embedding with layers from 2 to 2 and to 3 numbers. A hit has 20 bytes in
 * the event, and as many as features and point. */
ETX_TEST(test_stages_count_operations_and_bytes)
{
    enum { N = 50000 };
    scoped float *numbers = etx_test_alloc(3 * N, sizeof *numbers);
    scoped_model *model = io_model_make(io_model_small);
    scoped_context *context = etx_test_context();
    scoped_event *event = etx_test_event(N, numbers);
    etx_stage_timing timing = {.struct_size = sizeof timing};
    int64_t n_dim;

    ck_assert_ok(etx_embed(&n_dim, numbers, 3 * N, context, model, event));
    ck_assert_ok(etx_context_timing(&timing, context, ETX_STAGE_EMBEDDING));
    ck_assert_double_eq_tol(1e9 * timing.gflop, 2 * N * (2 * 2 + 2 * 3), 0.5);
    ck_assert_int_ge(timing.peak_bytes, 40 * N);
    ck_assert_int_lt(timing.peak_bytes, 60 * N);
}

/* ------------------------------------------------------- several events -- */

#define N_BATCH 5

/* Events that ship, in turn; and of each alone the tracks and scored edges. */
struct batch {
    etx_model *model;
    etx_event *own[2];
    const etx_event *event[N_BATCH];
    etx_tracks *alone[N_BATCH], *tracks[N_BATCH];
    int64_t n_edges[N_BATCH];
};

static int64_t scored_edges(const etx_context *context)
{
    etx_stage_timing timing = {.struct_size = sizeof timing};

    ck_assert_ok(etx_context_timing(&timing, context, ETX_STAGE_GNN));
    ck_assert(timing.seconds > 0.0 && timing.gflop > 0.0);
    return timing.n_edges;
}

static void open_batch(struct batch *batch)
{
    scoped_context *context = etx_test_context();

    *batch = (struct batch){NULL};
    etx_test_open_example(&batch->model, &batch->own[0], "event000000000");
    etx_model_free(batch->model);
    etx_test_open_example(&batch->model, &batch->own[1], "event000000001");
    for (int32_t e = 0; e < N_BATCH; e++) {
        batch->event[e] = batch->own[e % 2];
        ck_assert_ok(etx_find_tracks(
            &batch->alone[e], context, batch->model, batch->event[e]));
        batch->n_edges[e] = scored_edges(context);
    }
}

static void close_batch(struct batch *batch)
{
    for (int32_t e = 0; e < N_BATCH; e++)
        etx_tracks_free(batch->alone[e]);
    etx_event_free(batch->own[0]);
    etx_event_free(batch->own[1]);
    etx_model_free(batch->model);
}

/* In one call, for any number of threads and again, the tracks of each event.
 */
ETX_TEST(test_batch_is_single_calls, .rows = 3)
{
    etx_context_options options;
    scoped_context *context = NULL;
    struct batch batch;

    open_batch(&batch);
    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = 1 + _i;
    ck_assert_ok(etx_context_create(&context, &options));
    for (int32_t n = N_BATCH; n >= 0; n -= 2) {
        int64_t n_edges = 0;

        ck_assert_ok(etx_find_tracks_batch(
            batch.tracks, context, batch.model, n, batch.event));
        for (int32_t e = 0; e < n; e++) {
            job_assert_same_tracks(batch.alone[e], batch.tracks[e]);
            etx_tracks_free(batch.tracks[e]);
            n_edges += batch.n_edges[e];
        }
        ck_assert_int_eq(scored_edges(context), n_edges);
    }
    close_batch(&batch);
}

/* Whether the first n events pass within a bound on scratch memory. */
static int32_t fits(
    const struct batch *batch, int64_t n, int32_t n_threads, int64_t limit)
{
    scoped_context *context =
        etx_test_context_with(n_threads, limit, NULL, NULL);
    etx_tracks *tracks[2] = {NULL};
    const etx_status status =
        etx_find_tracks_batch(tracks, context, batch->model, n, batch->event);

    ck_assert_msg(
        status == ETX_OK || status == ETX_ERR_MEMORY || status == ETX_ERR_LIMIT,
        "%s", etx_last_error());
    for (int64_t e = 0; e < n; e++)
        etx_tracks_free(tracks[e]);
    return status == ETX_OK;
}

/* Two threads with one event each have half of memory_limit each. */
ETX_TEST(test_batch_shares_memory_limit)
{
    int64_t least = 1; /* KiB that one event needs, within */
    int64_t enough = 1024 * 1024;
    struct batch batch;

    open_batch(&batch);
    batch.event[1] = batch.event[0];
    ck_assert(!fits(&batch, 1, 1, least << 10));
    while (least + 1 < enough) {
        const int64_t middle = (least + enough) / 2;

        *(fits(&batch, 1, 1, middle << 10) ? &enough : &least) = middle;
    }
    ck_assert(fits(&batch, 2, 2, 2 * enough << 10));
    ck_assert(!fits(&batch, 2, 2, 2 * least << 10));
    close_batch(&batch);
}

static int32_t count_polls(void *n_polls)
{
    return ++*(int32_t *)n_polls > 3;
}

/* One event that fails, or a cancelled call, leaves no tracks of the others. */
ETX_TEST(test_batch_fails_whole, .rows = 2)
{
    static const float position[6] = {32, 0, 10, 72, 0, 20};
    etx_context_options options;
    scoped_context *context = NULL;
    scoped_event *one_feature = NULL;
    int32_t n_polls = -1000000000;
    struct batch batch;

    open_batch(&batch);
    ck_assert_ok(etx_event_create(&one_feature, 2, NULL, position));
    ck_assert_ok(etx_event_set_features(one_feature, 1, position));
    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = 1 + _i;
    options.cancel = count_polls;
    options.cancel_user = &n_polls;
    ck_assert_ok(etx_context_create(&context, &options));
    batch.event[3] = one_feature;
    ck_assert_fails(etx_find_tracks_batch(batch.tracks, context, batch.model,
                        N_BATCH, batch.event),
        ETX_ERR_ARGUMENT, "but the event has 1");
    batch.event[3] = NULL;
    ck_assert_fails(etx_find_tracks_batch(batch.tracks, context, batch.model,
                        N_BATCH, batch.event),
        ETX_ERR_ARGUMENT, "event 3 is NULL");
    ck_assert_fails(etx_find_tracks_batch(
                        batch.tracks, context, batch.model, -1, batch.event),
        ETX_ERR_ARGUMENT, "n_events");
    ck_assert_ok(etx_find_tracks_batch(NULL, context, batch.model, 0, NULL));
    n_polls = 3;
    ck_assert_status(etx_find_tracks_batch(
                         batch.tracks, context, batch.model, 3, batch.event),
        ETX_ERR_CANCELLED);
    for (int32_t e = 0; e < N_BATCH; e++)
        ck_assert_ptr_null(batch.tracks[e]);
    close_batch(&batch);
}

ETX_TEST(test_embedding_then_radius_is_the_graph)
{
    scoped_job job = job_make();
    const int64_t n_hits = etx_event_n_hits(job.event);
    int64_t n_dim = 0;
    scoped float *points = NULL;

    ck_assert_ok(etx_embed(&n_dim, NULL, 0, job.context, job.model, job.event));
    ck_assert_int_gt(n_dim, 0);
    points = calloc((size_t)(n_hits * n_dim), sizeof *points);
    ck_assert_refused(etx_embed(&n_dim, points, n_hits * n_dim - 1, job.context,
                          job.model, job.event),
        "capacity");
    ck_assert_ok(etx_embed(
        &n_dim, points, n_hits * n_dim, job.context, job.model, job.event));
    scoped_graph *expected = NULL;
    scoped_graph *graph = NULL;
    etx_graph_options options;
    ck_assert_ok(etx_graph_build(&expected, job.context, job.model, job.event));
    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.radius = job.model->radius;
    options.orientation = job.model->orientation;
    ck_assert_ok(etx_graph_build_radius(
        &graph, job.context, n_hits, n_dim, points, job.event, &options));
    etx_test_same_graph(graph, expected);
}

/* Events that do not fit a model. */
ETX_TEST(test_stages_refuse)
{
    static const float position[] = {30.0f, 0.0f, 1.0f, 70.0f, 0.0f, 2.0f};
    scoped_job job = job_make();
    scoped_event *other = NULL;
    scoped_graph *graph = NULL;
    etx_graph *kept = NULL;

    ck_assert_ok(etx_event_create(&other, 2, NULL, position));
    ck_assert_ok(etx_graph_build(&graph, job.context, job.model, job.event));
    ck_assert_refused(
        etx_graph_filter(&kept, graph, job.context, job.model, other),
        "nodes and the event 2 hits");
    ck_assert_ptr_null(kept);
}

/* The features of the caller must be as many as the model reads. */
ETX_TEST(test_features_must_fit)
{
    scoped_job job = job_make();
    const int64_t n_hits = etx_event_n_hits(job.event);
    scoped float *features = etx_test_alloc(2 * n_hits, sizeof *features);

    ck_assert_ok(etx_event_set_features(job.event, 2, features));
    ck_assert_refused(
        etx_find_tracks(&job.tracks, job.context, job.model, job.event), "2");
}

/* Events with no hits, one hit, and all hits at one point. */
ETX_TEST(test_small_events, .rows = 3)
{
    static const int64_t sizes[] = {0, 1, 2, 40};
    float position[3 * 40];
    float cells[9 * 40] = {0.0f};
    scoped_job job = job_make();

    for (size_t k = 0; k < 40; k++) {
        position[3 * k] = _i == 0 ? 50.0f : 0.0f;
        position[3 * k + 1] = 0.0f;
        position[3 * k + 2] = _i == 2 ? 1e9f : 0.0f;
    }
    for (size_t k = 0; k < ROWS(sizes); k++) {
        scoped_event *event = NULL;
        scoped_tracks *tracks = NULL;
        etx_status status;

        ck_assert_ok(etx_event_create(&event, sizes[k], NULL, position));
        ck_assert_ok(etx_event_set_cell_features(event, cells));
        status = etx_find_tracks(&tracks, job.context, job.model, event);
        ck_assert(status == ETX_OK || status == ETX_ERR_ARGUMENT);
        if (_i < 2)
            ck_assert_ok(status);
        if (status == ETX_OK && sizes[k] < 2)
            ck_assert_int_eq(etx_tracks_count(tracks), 0);
    }
}

/* ------------------------------------------------------ graphs of points -- */

static const struct {
    float radius;
    int32_t max_neighbours, orientation;
    int64_t max_edges;
    etx_status status;
    const char *text;
} graph_rows[] = {
    {1.0f, 0, ETX_ORIENT_OUTWARD, 100, ETX_ERR_ARGUMENT, "event"},
    {10.0f, 0, 0, 5, ETX_ERR_LIMIT, "5"},
    {10.0f, 0, 0, 6, ETX_OK, ""},
};

ETX_TEST(test_graph_options, .rows = ROWS(graph_rows))
{
    static const float points[] = {0.0f, 1.0f, 2.0f, 3.0f};
    etx_graph_options options;
    scoped_context *context = NULL;
    scoped_graph *graph = NULL;

    ck_assert_ok(etx_context_create(&context, NULL));
    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.radius = graph_rows[_i].radius;
    options.max_neighbours = graph_rows[_i].max_neighbours;
    options.orientation = graph_rows[_i].orientation;
    options.max_edges = graph_rows[_i].max_edges;
    ck_assert_status(
        etx_graph_build_radius(&graph, context, 4, 1, points, NULL, &options),
        graph_rows[_i].status);
    if (graph_rows[_i].status != ETX_OK) {
        ck_assert_error(graph_rows[_i].text);
        ck_assert_ptr_null(graph);
    } else {
        ck_assert_int_eq(etx_graph_n_edges(graph), 6);
    }
}

static float square_of(const float *position)
{
    return position[0] * position[0] + position[1] * position[1] +
           position[2] * position[2];
}

/* Edges of either search lead from the hit nearer to the origin. */
ETX_TEST(test_graph_outward)
{
    static const float points[] = {0.0f, 1.0f, 2.0f, 3.0f};
    static const float position[] = {30.0f, 0.0f, 5.0f, 0.0f, 10.0f, 0.0f, 0.0f,
        20.0f, 1.0f, 4.0f, 3.0f, 9.0f};
    etx_graph_options options;
    scoped_context *context = etx_test_context();
    scoped_event *event = etx_test_event(4, position);

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.radius = 10.0f;
    options.max_neighbours = 3;
    options.orientation = ETX_ORIENT_OUTWARD;
    for (int32_t is_knn = 0; is_knn < 2; is_knn++) {
        scoped_graph *graph = NULL;

        ck_assert_ok((is_knn ? etx_graph_build_knn : etx_graph_build_radius)(
            &graph, context, 4, 1, points, event, &options));
        ck_assert_int_eq(etx_graph_n_edges(graph), 6);
        for (int64_t e = 0; e < 6; e++) {
            const float *const from = position + 3 * etx_graph_src(graph)[e];
            const float *const to = position + 3 * etx_graph_dst(graph)[e];

            ck_assert_float_lt(square_of(from), square_of(to));
        }
    }
}

/* The pairs of the three nearest neighbours of 2000 points, of 8 dimensions. */
enum { N_NEAR = 2000 };

static etx_graph *nearest_pairs(etx_context *context, const etx_event *event,
    const float *point, int32_t orientation)
{
    etx_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.max_neighbours = 3;
    options.orientation = orientation;
    ck_assert_ok(etx_graph_build_knn(
        &graph, context, N_NEAR, 8, point, event, &options));
    return graph;
}

/* 1: a pair of the edges of graph, in either direction; every other pair 0. */
static void mark_pairs(uint8_t *pairs, const etx_graph *graph)
{
    memset(pairs, 0, (size_t)N_NEAR * N_NEAR);
    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++) {
        const int32_t a = etx_graph_src(graph)[e];
        const int32_t b = etx_graph_dst(graph)[e];

        pairs[a * N_NEAR + b] = pairs[b * N_NEAR + a] = 1;
    }
}

/* With one direction each pair of neighbours is there once, whichever of them
 * has the other among its nearest. */
ETX_TEST(test_graph_nearest_pairs)
{
    scoped_context *context = etx_test_context();
    scoped float *point = etx_test_alloc(8 * N_NEAR, sizeof *point);
    scoped uint8_t *all = etx_test_alloc(N_NEAR * N_NEAR, sizeof *all);
    scoped uint8_t *once = etx_test_alloc(N_NEAR * N_NEAR, sizeof *once);
    struct etx_random random;

    etx_random_init(&random, 1, 0, 0);
    for (int64_t i = 0; i < 8 * N_NEAR; i++)
        point[i] = etx_random_uniform(&random);
    scoped_event *event = etx_test_event(N_NEAR, point);
    scoped_graph *both = nearest_pairs(context, NULL, point, ETX_ORIENT_BOTH);
    mark_pairs(all, both);
    ck_assert_int_eq(etx_graph_n_edges(both), 3 * N_NEAR);
    for (int32_t k = 0; k < 2; k++) {
        const int32_t orientation = k ? ETX_ORIENT_OUTWARD : ETX_ORIENT_INDEX;
        scoped_graph *graph = nearest_pairs(context, event, point, orientation);
        const int64_t n = etx_graph_n_edges(graph);

        mark_pairs(once, graph);
        ck_assert_mem_eq(once, all, (size_t)N_NEAR * N_NEAR);
        for (int64_t e = 0; e < n; e++) {
            const int32_t a = etx_graph_src(graph)[e];
            const int32_t b = etx_graph_dst(graph)[e];

            ck_assert(e == 0 || etx_graph_dst(graph)[e - 1] < b ||
                      (etx_graph_dst(graph)[e - 1] == b &&
                          etx_graph_src(graph)[e - 1] < a));
            if (orientation == ETX_ORIENT_INDEX)
                ck_assert_int_lt(a, b);
            else
                ck_assert_float_le(
                    square_of(point + 3 * a), square_of(point + 3 * b));
        }
    }
}

/* max_edges is that of the pairs: 0-1, 1-2 and 3-2, one of which is found from
 * both its ends. */
ETX_TEST(test_graph_nearest_pairs_limit)
{
    static const float points[] = {0.0f, 1.0f, 1.9f, 4.0f};
    scoped_context *context = etx_test_context();
    scoped_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.max_neighbours = 1;
    options.max_edges = 3;
    ck_assert_ok(
        etx_graph_build_knn(&graph, context, 4, 1, points, NULL, &options));
    ck_assert_int_eq(etx_graph_n_edges(graph), 3);
    for (int32_t max = 0; max < 3; max++) {
        etx_graph *none = NULL;
        char text[64];

        options.max_edges = max;
        (void)snprintf(
            text, sizeof text, "more than max_edges = %d pairs", max);
        ck_assert_fails(
            etx_graph_build_knn(&none, context, 4, 1, points, NULL, &options),
            ETX_ERR_LIMIT, text);
    }
}

ETX_TEST(test_graph_points)
{
    const uint32_t nan_bits = 0x7f800001u; /* a signalling one */
    float points[] = {0.0f, 1.0f, 2.0f, 3.0f};
    scoped_context *context = NULL;
    etx_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_context_create(&context, NULL));
    ck_assert_refused(
        etx_graph_build_radius(&graph, context, -1, 1, points, NULL, NULL),
        "n_points");
    ck_assert_fails(etx_graph_build_radius(&graph, context, INT64_C(1) << 31, 1,
                        points, NULL, NULL),
        ETX_ERR_LIMIT, "n_points");
    ck_assert_refused(
        etx_graph_build_radius(&graph, context, 4, 0, points, NULL, NULL),
        "n_dim");
    ck_assert_refused(
        etx_graph_build_radius(&graph, context, 4, 1025, points, NULL, NULL),
        "1024");
    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    ck_assert_refused(
        etx_graph_build_knn(&graph, context, 4, 1, points, NULL, &options),
        "max_neighbours 0");
    options.max_neighbours = 1;
    options.radius = 0.0f; /* not used */
    ck_assert_ok(
        etx_graph_build_knn(&graph, context, 4, 1, points, NULL, &options));
    etx_graph_free(graph);
    graph = NULL;
    memcpy(&points[2], &nan_bits, sizeof nan_bits);
    ck_assert_refused(
        etx_graph_build_radius(&graph, context, 4, 1, points, NULL, NULL), "2");
    ck_assert_ok(
        etx_graph_build_radius(&graph, context, 0, 1, NULL, NULL, NULL));
    ck_assert_int_eq(etx_graph_n_edges(graph), 0);
    etx_graph_free(graph);
}

/* ----------------------------------------------------- cached weights --- */

static struct etx_weight_cache_size cached(const etx_context *context)
{
    return etx_weight_cache_size(context->stream->weight_cache);
}

ETX_TEST(test_weights_are_packed_once)
{
    scoped_job job = job_make();
    scoped_tracks *again = NULL;

    job_find(&job);
    const struct etx_weight_cache_size before = cached(job.context);
    ck_assert_int_eq(before.n_networks, 3);
    ck_assert_int_gt(before.n_forms, 0);
    ck_assert_ok(etx_find_tracks(&again, job.context, job.model, job.event));
    const struct etx_weight_cache_size after = cached(job.context);
    ck_assert_int_eq(after.n_networks, before.n_networks);
    ck_assert_int_eq(after.n_forms, before.n_forms);
    ck_assert_int_eq(after.bytes, before.bytes);
    job_assert_same_tracks(job.tracks, again);
}

/* More networks than are cached, and other ones in the memory of the evicted
 * ones: never weights of another model. */
ETX_TEST(test_kept_networks_are_evicted)
{
    scoped_job job = job_make();

    for (int32_t k = 0; k < ETX_MAX_CACHED_NETWORKS; k++) {
        struct job other = job_make();
        if (k % 2 == 0) {
            etx_model_free(other.model);
            ck_assert_ok(etx_model_load(&other.model, SECOND_MODEL));
        }
        ck_assert_ok(etx_find_tracks(
            &other.tracks, other.context, other.model, job.event));
        ck_assert_ok(
            etx_find_tracks(&job.tracks, job.context, other.model, job.event));
        job_assert_same_tracks(job.tracks, other.tracks);
        ck_assert_int_le(
            cached(job.context).n_networks, ETX_MAX_CACHED_NETWORKS);
        etx_tracks_free(job.tracks);
        job.tracks = NULL;
        job_free(&other);
    }
}
