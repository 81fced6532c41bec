/* test_stages.c -- contexts and the stages of the pipeline, as a host calls
 * them: right, wrong, cancelled, short of memory, from many threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */
#include <exatrkx/graph.h>

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* What most tests need: the shipped model and a shipped event. */
struct job {
    etx_context *context;
    etx_model *model;
    etx_detector *detector;
    etx_event *event;
    etx_tracks *tracks;
};

static struct job make_job(void)
{
    struct job job = {0};

    ck_assert_ok(etx_context_create(&job.context, NULL));
    ck_assert_ok(etx_model_load(
        &job.model, "examples/models/default.safetensors"));
    ck_assert_ok(etx_detector_read(
        &job.detector, etx_test_example("detectors.csv.gz")));
    ck_assert_ok(etx_event_read_trackml(
        &job.event, etx_test_example("event000000001"), job.detector));
    return job;
}

static void free_job(struct job *job)
{
    etx_tracks_free(job->tracks);
    etx_event_free(job->event);
    etx_detector_free(job->detector);
    etx_model_free(job->model);
    etx_context_free(job->context);
}

static void assert_same_tracks(const etx_tracks *a, const etx_tracks *b)
{
    const int64_t n = etx_tracks_count(a);

    ck_assert_int_gt(n, 10);
    ck_assert_int_eq(n, etx_tracks_count(b));
    ck_assert_mem_eq(etx_tracks_offsets(a), etx_tracks_offsets(b),
        (size_t)(n + 1) * sizeof(int64_t));
    ck_assert_mem_eq(etx_tracks_hits(a), etx_tracks_hits(b),
        (size_t)etx_tracks_offsets(a)[n] * sizeof(int32_t));
}

/* ------------------------------------------------------------- contexts -- */

static const struct {
    size_t place;
    int32_t value;
    etx_status status;
    const char *text;
} context_rows[] = {
    {offsetof(etx_context_options, device), 7, ETX_ERR_ARGUMENT, "device 7"},
    {offsetof(etx_context_options, n_threads), 0, ETX_ERR_ARGUMENT,
        "n_threads 0"},
    {offsetof(etx_context_options, n_threads), 257, ETX_ERR_ARGUMENT,
        "1..256"},
    {offsetof(etx_context_options, cpu_level), 4, ETX_ERR_ARGUMENT,
        "cpu_level 4"},
    {offsetof(etx_context_options, cpu_level), -1, ETX_ERR_ARGUMENT,
        "cpu_level -1"},
    {offsetof(etx_context_options, device_index), -1, ETX_ERR_ARGUMENT,
        "device_index -1"},
    {offsetof(etx_context_options, reserved), 1, ETX_ERR_ARGUMENT,
        "reserved"},
    {offsetof(etx_context_options, keep_graphs), 2, ETX_ERR_ARGUMENT,
        "keep_graphs 2"},
    {offsetof(etx_context_options, keep_graphs), 1, ETX_ERR_UNSUPPORTED,
        "keep_graphs 1"},
    {offsetof(etx_context_options, precision), 3, ETX_ERR_ARGUMENT,
        "precision 3"},
    {offsetof(etx_context_options, precision), -1, ETX_ERR_ARGUMENT,
        "precision -1"},
    {offsetof(etx_context_options, precision), ETX_PRECISION_FLOAT16,
        ETX_ERR_UNSUPPORTED, "precision 2"},
    {offsetof(etx_context_options, struct_size), 0, ETX_ERR_ARGUMENT,
        "context options"},
    {offsetof(etx_context_options, struct_size), 3, ETX_ERR_ARGUMENT,
        "context options"},
};

START_TEST(test_context_refuses)
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    memcpy((char *)&options + context_rows[_i].place, &context_rows[_i].value,
        sizeof context_rows[_i].value);
    ck_assert_fails(etx_context_create(&context, &options),
        context_rows[_i].status, context_rows[_i].text);
    ck_assert_ptr_null(context);
}
END_TEST

START_TEST(test_context_null)
{
    etx_stage_timing timing[ETX_N_STAGES];

    ck_assert_fails(
        etx_context_create(NULL, NULL), ETX_ERR_ARGUMENT, "out is NULL");
    ck_assert_fails(etx_context_options_init(NULL, 64), ETX_ERR_ARGUMENT, "");
    ck_assert_fails(etx_timings(timing, NULL), ETX_ERR_ARGUMENT, "context");
    etx_context_free(NULL);
    ck_assert_str_eq(etx_stage_name(ETX_STAGE_GNN), "gnn");
    ck_assert_str_eq(etx_stage_name(-1), "unknown");
    ck_assert_str_eq(etx_stage_name(ETX_N_STAGES), "unknown");
}
END_TEST

static etx_status make_context(void *argument)
{
    etx_context *context = NULL;
    etx_status status;

    (void)argument;
    status = etx_context_create(&context, NULL);
    etx_context_free(context);
    return status;
}

START_TEST(test_context_out_of_memory)
{
    ck_assert_int_gt(etx_test_out_of_memory(make_context, NULL), 0);
}
END_TEST

/* ------------------------------------------------------------ the whole -- */

START_TEST(test_stages_are_the_pipeline)
{
    struct job job = make_job();
    etx_label_options label;
    etx_graph *graph = NULL;
    etx_graph *kept = NULL;
    etx_tracks *tracks = NULL;
    etx_stage_timing timing[ETX_N_STAGES];

    ck_assert_ok(
        etx_find_tracks(&job.tracks, job.context, job.model, job.event));
    ck_assert_ok(etx_timings(timing, job.context));
    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++) {
        ck_assert(timing[stage].seconds > 0.0);
        ck_assert_int_gt(timing[stage].peak_bytes, 0);
    }
    ck_assert(timing[ETX_STAGE_GNN].gflop > 0.0);
    ck_assert_ok(etx_graph_build(&graph, job.context, job.model, job.event));
    ck_assert_int_eq(
        etx_graph_n_edges(graph), timing[ETX_STAGE_GRAPH].n_edges);
    ck_assert_ok(etx_graph_filter(
        &kept, graph, job.context, job.model, job.event));
    ck_assert_int_eq(
        etx_graph_n_edges(kept), timing[ETX_STAGE_FILTER].n_edges);
    ck_assert_ok(
        etx_graph_score(kept, job.context, job.model, job.event));
    ck_assert_ok(etx_label_options_init(&label, sizeof label));
    ck_assert_ok(etx_model_label_options(&label, job.model));
    ck_assert_ok(etx_graph_tracks(
        &tracks, kept, job.context, job.event, &label));
    assert_same_tracks(job.tracks, tracks);
    etx_tracks_free(tracks);
    etx_graph_free(kept);
    etx_graph_free(graph);
    free_job(&job);
}
END_TEST

START_TEST(test_embedding_then_radius_is_the_graph)
{
    struct job job = make_job();
    const int64_t n_hits = etx_event_n_hits(job.event);
    int64_t n_dim = 0;
    float *points = NULL;

    ck_assert_ok(etx_embed(
        &n_dim, NULL, 0, job.context, job.model, job.event));
    ck_assert_int_gt(n_dim, 0);
    points = calloc((size_t)(n_hits * n_dim), sizeof *points);
    ck_assert_fails(etx_embed(&n_dim, points, n_hits * n_dim - 1, job.context,
                        job.model, job.event),
        ETX_ERR_ARGUMENT, "capacity");
    ck_assert_ok(etx_embed(&n_dim, points, n_hits * n_dim, job.context,
        job.model, job.event));
    free(points);
    free_job(&job);
}
END_TEST

/* A model without embedding, filter or network, and events that do not fit. */
START_TEST(test_stages_refuse)
{
    static const float position[] = {30.0f, 0.0f, 1.0f, 70.0f, 0.0f, 2.0f};
    struct job job = make_job();
    etx_event *other = NULL;
    etx_graph *graph = NULL;
    etx_graph *kept = NULL;

    ck_assert_ok(etx_event_create(&other, 2, NULL, position));
    ck_assert_fails(
        etx_find_tracks(NULL, job.context, job.model, job.event),
        ETX_ERR_ARGUMENT, "out");
    ck_assert_fails(
        etx_find_tracks(&job.tracks, NULL, job.model, job.event),
        ETX_ERR_ARGUMENT, "context");
    ck_assert_fails(
        etx_find_tracks(&job.tracks, job.context, NULL, job.event),
        ETX_ERR_ARGUMENT, "model");
    ck_assert_fails(
        etx_find_tracks(&job.tracks, job.context, job.model, NULL),
        ETX_ERR_ARGUMENT, "event");
    ck_assert_ok(etx_graph_build(&graph, job.context, job.model, job.event));
    ck_assert_fails(
        etx_graph_filter(&kept, graph, job.context, job.model, other),
        ETX_ERR_ARGUMENT, "");
    ck_assert_fails(
        etx_graph_filter(&kept, NULL, job.context, job.model, job.event),
        ETX_ERR_ARGUMENT, "graph");
    ck_assert_fails(
        etx_graph_score(NULL, job.context, job.model, job.event),
        ETX_ERR_ARGUMENT, "graph");
    ck_assert_ptr_null(kept);
    ck_assert_ptr_null(job.tracks);
    etx_graph_free(graph);
    etx_event_free(other);
    free_job(&job);
}
END_TEST

/* The features of the caller must be as many as the model reads. */
START_TEST(test_features_must_fit)
{
    struct job job = make_job();
    const int64_t n_hits = etx_event_n_hits(job.event);
    float *features = calloc((size_t)(2 * n_hits), sizeof *features);

    ck_assert_ok(etx_event_set_features(job.event, 2, features));
    ck_assert_fails(
        etx_find_tracks(&job.tracks, job.context, job.model, job.event),
        ETX_ERR_ARGUMENT, "2");
    free(features);
    free_job(&job);
}
END_TEST

/* Events with no hits, one hit, and all hits in one place. */
START_TEST(test_small_events)
{
    static const int64_t sizes[] = {0, 1, 2, 40};
    float position[3 * 40];
    float cells[9 * 40] = {0.0f};
    struct job job = make_job();

    for (size_t k = 0; k < 40; k++) {
        position[3 * k] = _i == 0 ? 50.0f : 0.0f;
        position[3 * k + 1] = 0.0f;
        position[3 * k + 2] = _i == 2 ? 1e30f : 0.0f;
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        etx_event *event = NULL;
        etx_tracks *tracks = NULL;
        etx_status status;

        ck_assert_ok(etx_event_create(&event, sizes[k], NULL, position));
        ck_assert_ok(etx_event_set_cell_features(event, cells));
        status = etx_find_tracks(&tracks, job.context, job.model, event);
        ck_assert(status == ETX_OK || status == ETX_ERR_ARGUMENT);
        if (_i < 2)
            ck_assert_ok(status);
        if (status == ETX_OK && sizes[k] < 2)
            ck_assert_int_eq(etx_tracks_count(tracks), 0);
        etx_tracks_free(tracks);
        etx_event_free(event);
    }
    free_job(&job);
}
END_TEST

/* ------------------------------------------------------ graphs of points -- */

static const struct {
    float radius;
    int32_t max_neighbours, orientation;
    int64_t max_edges;
    etx_status status;
    const char *text;
} graph_rows[] = {
    {0.0f, 0, 0, 100, ETX_ERR_ARGUMENT, "radius 0"},
    {-1.0f, 0, 0, 100, ETX_ERR_ARGUMENT, "radius -1"},
    {HUGE_VALF, 0, 0, 100, ETX_ERR_ARGUMENT, "radius inf"},
    {1.0f, -1, 0, 100, ETX_ERR_ARGUMENT, "max_neighbours -1"},
    {1.0f, 0, 3, 100, ETX_ERR_ARGUMENT, "orientation 3"},
    {1.0f, 0, ETX_ORIENT_OUTWARD, 100, ETX_ERR_ARGUMENT, "event"},
    {1.0f, 0, 0, -1, ETX_ERR_ARGUMENT, "max_edges -1"},
    {10.0f, 0, 0, 5, ETX_ERR_LIMIT, "5"},
    {10.0f, 0, 0, 6, ETX_OK, ""},
};

START_TEST(test_graph_options)
{
    static const float points[] = {0.0f, 1.0f, 2.0f, 3.0f};
    etx_graph_options options;
    etx_context *context = NULL;
    etx_graph *graph = NULL;

    ck_assert_ok(etx_context_create(&context, NULL));
    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.radius = graph_rows[_i].radius;
    options.max_neighbours = graph_rows[_i].max_neighbours;
    options.orientation = graph_rows[_i].orientation;
    options.max_edges = graph_rows[_i].max_edges;
    ck_assert_status(etx_graph_build_radius(&graph, context, 4, 1, points,
                         NULL, &options),
        graph_rows[_i].status);
    if (graph_rows[_i].status != ETX_OK) {
        ck_assert_error(graph_rows[_i].text);
        ck_assert_ptr_null(graph);
    } else {
        ck_assert_int_eq(etx_graph_n_edges(graph), 6);
    }
    etx_graph_free(graph);
    etx_context_free(context);
}
END_TEST

START_TEST(test_graph_points)
{
    const uint32_t nan_bits = 0x7f800001u; /* a signalling one */
    float points[] = {0.0f, 1.0f, 2.0f, 3.0f};
    etx_context *context = NULL;
    etx_graph *graph = NULL;
    etx_graph_options options;

    ck_assert_ok(etx_context_create(&context, NULL));
    ck_assert_fails(
        etx_graph_build_radius(&graph, context, -1, 1, points, NULL, NULL),
        ETX_ERR_ARGUMENT, "n_points");
    ck_assert_fails(etx_graph_build_radius(
                        &graph, context, INT64_C(1) << 31, 1, points, NULL,
                        NULL),
        ETX_ERR_LIMIT, "n_points");
    ck_assert_fails(
        etx_graph_build_radius(&graph, context, 4, 0, points, NULL, NULL),
        ETX_ERR_ARGUMENT, "n_dim");
    ck_assert_fails(
        etx_graph_build_radius(&graph, context, 4, 1025, points, NULL, NULL),
        ETX_ERR_ARGUMENT, "1024");
    ck_assert_fails(
        etx_graph_build_radius(&graph, context, 4, 1, NULL, NULL, NULL),
        ETX_ERR_ARGUMENT, "points");
    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    ck_assert_fails(
        etx_graph_build_knn(&graph, context, 4, 1, points, NULL, &options),
        ETX_ERR_ARGUMENT, "max_neighbours 0");
    memcpy(&points[2], &nan_bits, sizeof nan_bits);
    ck_assert_fails(
        etx_graph_build_radius(&graph, context, 4, 1, points, NULL, NULL),
        ETX_ERR_ARGUMENT, "2");
    ck_assert_ok(
        etx_graph_build_radius(&graph, context, 0, 1, NULL, NULL, NULL));
    ck_assert_int_eq(etx_graph_n_edges(graph), 0);
    etx_graph_free(graph);
    etx_context_free(context);
}
END_TEST

/* ----------------------------------------------------- the host's ways -- */

/* Says go on `*user` times, then stop. */
static int32_t stop_after(void *user)
{
    int64_t *left = user;

    return (*left)-- <= 0;
}

START_TEST(test_cancel_anywhere)
{
    struct job job = make_job();
    etx_context_options options;
    int64_t n_asked = 0;
    etx_status status = ETX_ERR_CANCELLED;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.cancel = stop_after;
    for (int64_t go_on = 0; status != ETX_OK; go_on++) {
        etx_context *context = NULL;
        int64_t left = go_on;

        options.cancel_user = &left;
        ck_assert_ok(etx_context_create(&context, &options));
        status =
            etx_find_tracks(&job.tracks, context, job.model, job.event);
        if (status != ETX_OK) {
            ck_assert_int_eq(status, ETX_ERR_CANCELLED);
            ck_assert_ptr_null(job.tracks);
        }
        etx_context_free(context);
        n_asked = go_on;
        go_on += go_on / 4;
    }
    ck_assert_int_gt(n_asked, 3);
    free_job(&job);
}
END_TEST

START_TEST(test_memory_limit)
{
    struct job job = make_job();
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.memory_limit = 4096;
    ck_assert_ok(etx_context_create(&context, &options));
    ck_assert_fails(
        etx_find_tracks(&job.tracks, context, job.model, job.event),
        ETX_ERR_MEMORY, "4096");
    ck_assert_ptr_null(job.tracks);
    etx_context_free(context);
    free_job(&job);
}
END_TEST

/* All points in one place are all pairs: the limit holds for them, too. */
START_TEST(test_memory_limit_of_edges)
{
    static const float points[2000] = {0.0f};
    etx_context_options options;
    etx_context *context = NULL;
    etx_graph *graph = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.memory_limit = 4 << 20;
    ck_assert_ok(etx_context_create(&context, &options));
    ck_assert_fails(
        etx_graph_build_radius(&graph, context, 2000, 1, points, NULL, NULL),
        ETX_ERR_LIMIT, "131072");
    ck_assert_ptr_null(graph);
    etx_context_free(context);
}
END_TEST

static etx_status find_once(void *argument)
{
    struct job *job = argument;
    etx_context *context = NULL;
    etx_tracks *tracks = NULL;
    etx_status status = etx_context_create(&context, NULL);

    if (status == ETX_OK)
        status = etx_find_tracks(&tracks, context, job->model, job->event);
    etx_tracks_free(tracks);
    etx_context_free(context);
    return status;
}

START_TEST(test_out_of_memory)
{
    struct job job = make_job();

    ck_assert_int_gt(etx_test_out_of_memory(find_once, &job), 10);
    free_job(&job);
}
END_TEST

/* One thread of the host: its own context, the shared model and event. */
static void *find_on_thread(void *argument)
{
    struct job job = *(struct job *)argument;

    job.context = NULL;
    job.tracks = NULL;
    for (int repeat = 0; repeat < 3; repeat++) {
        ck_assert_ok(etx_context_create(&job.context, NULL));
        etx_tracks_free(job.tracks);
        job.tracks = NULL;
        ck_assert_ok(
            etx_find_tracks(&job.tracks, job.context, job.model, job.event));
        etx_context_free(job.context);
    }
    return job.tracks;
}

START_TEST(test_threads_share_a_model)
{
    struct job job = make_job();
    pthread_t thread[4];

    ck_assert_ok(
        etx_find_tracks(&job.tracks, job.context, job.model, job.event));
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(
            pthread_create(&thread[k], NULL, find_on_thread, &job), 0);
    for (int k = 0; k < 4; k++) {
        void *found = NULL;

        ck_assert_int_eq(pthread_join(thread[k], &found), 0);
        assert_same_tracks(job.tracks, found);
        etx_tracks_free(found);
    }
    free_job(&job);
}
END_TEST

/* A host that traps every exception and rounds upward. */
START_TEST(test_host_traps_and_rounds)
{
    struct job job = make_job();
    etx_tracks *tracks = NULL;

    ck_assert_ok(
        etx_find_tracks(&job.tracks, job.context, job.model, job.event));
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    fesetround(FE_UPWARD);
    ck_assert_ok(
        etx_find_tracks(&tracks, job.context, job.model, job.event));
    ck_assert_int_eq(fegetround(), FE_UPWARD);
    ck_assert_int_eq(fegetexcept(),
        FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    assert_same_tracks(job.tracks, tracks);
    etx_tracks_free(tracks);
    free_job(&job);
}
END_TEST

/* A context with a pool goes on working in the child of a fork. */
START_TEST(test_fork)
{
    struct job job = make_job();
    etx_context_options options;
    etx_context *context = NULL;
    etx_tracks *tracks = NULL;
    pid_t child = 0;
    int state = 0;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = 3;
    ck_assert_ok(etx_context_create(&context, &options));
    ck_assert_ok(
        etx_find_tracks(&job.tracks, context, job.model, job.event));
    child = fork();
    if (child == 0) {
        const etx_status status =
            etx_find_tracks(&tracks, context, job.model, job.event);

        _exit(status == ETX_OK && etx_tracks_count(tracks) ==
                                      etx_tracks_count(job.tracks)
                  ? 0
                  : 1);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    etx_context_free(context);
    free_job(&job);
}
END_TEST

static void find_on_small_stack(void *argument)
{
    struct job *job = argument;

    ck_assert_ok(
        etx_find_tracks(&job->tracks, job->context, job->model, job->event));
}

START_TEST(test_small_stack)
{
    struct job job = make_job();

    etx_test_on_small_stack(find_on_small_stack, &job);
    ck_assert_int_gt(etx_tracks_count(job.tracks), 10);
    free_job(&job);
}
END_TEST

#define N_ROWS(table) (sizeof(table) / sizeof *(table))

Suite *etx_suite_stages(void)
{
    Suite *suite = suite_create("stages");

    etx_test_add_loop(suite, "context refuses", test_context_refuses,
        N_ROWS(context_rows));
    etx_test_add(suite, "context NULL", test_context_null);
    etx_test_add(suite, "context memory", test_context_out_of_memory);
    etx_test_add(suite, "pipeline", test_stages_are_the_pipeline);
    etx_test_add(suite, "embedding", test_embedding_then_radius_is_the_graph);
    etx_test_add(suite, "refuse", test_stages_refuse);
    etx_test_add(suite, "features", test_features_must_fit);
    etx_test_add_loop(suite, "small events", test_small_events, 3);
    etx_test_add_loop(
        suite, "graph options", test_graph_options, N_ROWS(graph_rows));
    etx_test_add(suite, "graph points", test_graph_points);
    etx_test_add(suite, "cancel", test_cancel_anywhere);
    etx_test_add(suite, "memory limit", test_memory_limit);
    etx_test_add(suite, "edge limit", test_memory_limit_of_edges);
    etx_test_add(suite, "out of memory", test_out_of_memory);
    etx_test_add(suite, "threads", test_threads_share_a_model);
    etx_test_add(suite, "traps", test_host_traps_and_rounds);
    etx_test_add(suite, "fork", test_fork);
    etx_test_add(suite, "small stack", test_small_stack);
    return suite;
}
