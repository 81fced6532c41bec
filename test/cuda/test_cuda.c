/* test_cuda.c -- the pipeline on a device, compared with the CPU, and what a
 * machine without one answers.
 *
 * The operators are compared by the suites of test/checkop, which take a
 * device as one more implementation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "checkop.h"
#include "device.h"
#include "io/model_file.h"
#include "job.h"

/* Scores differ by rounding alone; CPU and device round in another order, and
 * float16 keeps 11 bits of what goes from layer to layer, TF32 of what goes
 * into a product: both change a score about as much. How much they must change
 * it follows from operands rounded to 11 bits at random, which has twice the
 * variance of the nearest (test_cuda_shim_rounding): the standard deviation of
 * the most sensitive of all edges, one of the real event, is 0.013. The largest
 * difference allowed is four of it; that of most edges is some 1e-4, which is
 * what their mean square bounds. */
static const struct precision {
    int32_t precision;
    float max_difference; /* of a score */
    double max_rms;       /* of the differences of an event */
} precisions[] = {{ETX_PRECISION_FLOAT32, 1e-3f, 1e-5},
    {ETX_PRECISION_FLOAT16, 5e-2f, 6e-4}, {ETX_PRECISION_TF32, 5e-2f, 6e-4}};

#define N_PRECISIONS ROWS(precisions)

/* Of the tracks that the CPU finds, those that float16 gives hit for hit. */
#define MIN_SAME_TRACKS 0.97

/* Pairs of hits, within one part in a million of the radius: fewer than one is
 * expected in an event. */
#define MAX_BORDER 4

/* NULL: the real event among the reference data. */
static const char *const events[] = {
    "event000000000", "event000000001", "event000000002", NULL};

#define REFERENCE "trackml_event/"
#define HITS      "-hits.csv.gz"

#define N_EVENTS ROWS(events)
#define N_SMALL  2 /* of them */

/* The real event; 0 after etx_test_skip where it is absent. */
static int32_t read_reference(etx_event **event, const char *name)
{
    const char *file = etx_test_reference(name, REFERENCE "detectors.csv.gz");
    scoped_detector *detector = NULL;
    char prefix[1024] = "";

    if (file == NULL)
        return 0;
    ck_assert_ok(etx_detector_read(&detector, file));
    file = etx_test_reference(name, REFERENCE "event000000001" HITS);
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_lt(strlen(file), sizeof prefix);
    memcpy(prefix, file, strlen(file) - strlen(HITS));
    ck_assert_ok(etx_event_read_trackml(event, prefix, detector));
    return 1;
}

/* 0 after etx_test_skip where there is no device, or not this event. */
static int32_t start(struct device_job *both, const char *name,
    const char *event, int32_t precision)
{
    const etx_context_options options = device_options(precision);

    if (!device_job_make(both, name, event ? event : events[0], &options))
        return 0;
    if (event != NULL)
        return 1;
    etx_event_free(both->event);
    both->event = NULL;
    return read_reference(&both->event, name);
}

/* Module maps that were learned from the event: of modules and of layers, with
 * and without triplets. From the same positions the device finds the edges of
 * the CPU, and again with the map that it keeps. */
ETX_TEST(test_cuda_module_map, .rows = 4)
{
    scoped_device_job both = {NULL};
    scoped_model *model = NULL;
    scoped_graph *on_cpu = NULL;
    etx_module_map_options options;

    if (!start(&both, __func__, events[0], ETX_PRECISION_BEST))
        return;
    const etx_event *const one[] = {both.event};

    ck_assert_ok(etx_module_map_options_init(&options, sizeof options));
    options.units = _i < 2 ? ETX_MAP_MODULES : ETX_MAP_LAYERS;
    options.use_triplets = _i % 2;
    ck_assert_ok(
        etx_model_learn_module_map(&model, both.model, 1, one, &options));
    ck_assert_ok(etx_graph_build(&on_cpu, both.cpu, model, both.event));
    ck_assert_int_gt(
        etx_graph_n_edges(on_cpu), etx_event_n_hits(both.event) / 2);
    for (int32_t turn = 0; turn < 2; turn++) {
        scoped_graph *on_cuda = NULL;

        ck_assert_ok(etx_graph_build(&on_cuda, both.cuda, model, both.event));
        etx_test_same_graph(on_cpu, on_cuda);
    }
}

/* On the CPU's graph, the networks of the device give the CPU's scores: of
 * every event with every precision. */
ETX_TEST(test_cuda_near_scores, .rows = N_EVENTS * N_PRECISIONS,
    .n_small = N_SMALL * N_PRECISIONS)
{
    scoped_device_job both = {NULL};
    const struct precision *kind = &precisions[_i % N_PRECISIONS];

    if (!start(&both, __func__, events[_i / N_PRECISIONS], kind->precision))
        return;
    device_job_filter(&both);
    const int64_t n_edges = etx_graph_n_edges(both.graph);
    scoped float *filtered = device_job_scores(&both);

    ck_assert_int_gt(n_edges, 0);
    ck_assert_ok(etx_graph_score(both.graph, both.cpu, both.model, both.event));
    scoped float *expected = device_job_scores(&both);
    ck_assert_ok(etx_graph_set_scores(both.graph, filtered));
    ck_assert_ok(
        etx_graph_score(both.graph, both.cuda, both.model, both.event));
    double squares = 0.0;

    for (int64_t e = 0; e < n_edges; e++) {
        const float d = etx_graph_scores(both.graph)[e] - expected[e];

        if (!(fabsf(d) <= kind->max_difference))
            ck_abort_msg("edge %lld: score %.7g, not %.7g", (long long)e,
                (double)etx_graph_scores(both.graph)[e], (double)expected[e]);
        squares += (double)d * (double)d;
    }
    ck_assert_double_le(sqrt(squares / (double)n_edges), kind->max_rms);
}

/* How many tracks of a are tracks of b: those whose first hit begins a track
 * of the same hits. */
static int64_t count_same(const etx_tracks *a, const etx_tracks *b)
{
    const int64_t *a_at = etx_tracks_offsets(a);
    const int64_t *b_at = etx_tracks_offsets(b);
    int64_t n_same = 0;

    for (int64_t t = 0; t < etx_tracks_count(a); t++)
        for (int64_t u = 0; u < etx_tracks_count(b); u++) {
            const int64_t n = a_at[t + 1] - a_at[t];

            n_same += n == b_at[u + 1] - b_at[u] &&
                      memcmp(etx_tracks_hits(a) + a_at[t],
                          etx_tracks_hits(b) + b_at[u],
                          (size_t)n * sizeof(int32_t)) == 0;
        }
    return n_same;
}

/* Tracks of the CPU, and of the device, which finds the same twice. */
static void find_tracks(
    struct device_job *both, etx_tracks **on_cpu, etx_tracks **on_cuda)
{
    scoped_tracks *again = NULL;

    ck_assert_ok(etx_find_tracks(on_cpu, both->cpu, both->model, both->event));
    ck_assert_ok(
        etx_find_tracks(on_cuda, both->cuda, both->model, both->event));
    ck_assert_ok(etx_find_tracks(&again, both->cuda, both->model, both->event));
    job_assert_same_tracks(*on_cuda, again);
}

/* Whether edge x of a graph comes before edge y of another. */
static int32_t is_before(
    const etx_graph *a, int64_t x, const etx_graph *b, int64_t y)
{
    if (etx_graph_dst(a)[x] != etx_graph_dst(b)[y])
        return etx_graph_dst(a)[x] < etx_graph_dst(b)[y];
    return etx_graph_src(a)[x] < etx_graph_src(b)[y];
}

/* Edges that only one of two graphs has. */
static int64_t count_other(const etx_graph *a, const etx_graph *b)
{
    const int64_t n_a = etx_graph_n_edges(a);
    const int64_t n_b = etx_graph_n_edges(b);
    int64_t n_other = 0;
    int64_t x = 0;
    int64_t y = 0;

    while (x < n_a && y < n_b) {
        const int32_t a_first = is_before(a, x, b, y);
        const int32_t b_first = is_before(b, y, a, x);

        x += !b_first;
        y += !a_first;
        n_other += a_first || b_first;
    }
    return n_other + (n_a - x) + (n_b - y);
}

/* Candidates that only one of CPU and device has: pairs of hits whose points,
 * rounded in another order, lie at the radius. */
static int64_t count_border(const struct device_job *both)
{
    scoped_graph *on_cpu = NULL;
    scoped_graph *on_cuda = NULL;

    ck_assert_ok(etx_graph_build(&on_cpu, both->cpu, both->model, both->event));
    ck_assert_ok(
        etx_graph_build(&on_cuda, both->cuda, both->model, both->event));
    return count_other(on_cpu, on_cuda);
}

/* Hits in, tracks out: the tracks of the CPU, but for the few that a candidate
 * at the radius may join or part. */
ETX_TEST(test_cuda_same_tracks, .rows = N_EVENTS, .n_small = N_SMALL)
{
    scoped_device_job both = {NULL};
    scoped_tracks *on_cpu = NULL;
    scoped_tracks *on_cuda = NULL;

    if (!start(&both, __func__, events[_i], ETX_PRECISION_FLOAT32))
        return;
    find_tracks(&both, &on_cpu, &on_cuda);
    const int64_t n_border = count_border(&both);

    ck_assert_int_le(n_border, MAX_BORDER);
    if (n_border == 0)
        job_assert_same_tracks(on_cpu, on_cuda);
    ck_assert_int_ge(
        count_same(on_cpu, on_cuda), etx_tracks_count(on_cpu) - 2 * n_border);
}

/* With fewer bits, nearly the tracks of the CPU: float16 from the CPU's points,
 * TF32 from points of its own. */
ETX_TEST(test_cuda_near_tracks, .rows = 2 * N_EVENTS, .n_small = 2 * N_SMALL)
{
    scoped_device_job both = {NULL};
    scoped_tracks *on_cpu = NULL;
    scoped_tracks *on_cuda = NULL;

    if (!start(&both, __func__, events[_i / 2],
            _i % 2 == 0 ? ETX_PRECISION_BEST : ETX_PRECISION_TF32))
        return;
    find_tracks(&both, &on_cpu, &on_cuda);
    ck_assert_double_ge((double)count_same(on_cpu, on_cuda),
        MIN_SAME_TRACKS * (double)etx_tracks_count(on_cpu));
}

/* A context that has run one model runs the next with that one's parameters,
 * even where it lies in the same memory. */
ETX_TEST(test_cuda_other_model)
{
    scoped_device_job both = {NULL};

    if (!start(&both, __func__, events[0], ETX_PRECISION_BEST))
        return;
    const int64_t n_values = etx_event_n_hits(both.event) * 64;
    scoped float *on_cpu = etx_test_alloc(n_values, sizeof *on_cpu);
    scoped float *on_cuda = etx_test_alloc(n_values, sizeof *on_cuda);

    for (int32_t turn = 0; turn < 4; turn++) {
        int64_t n_dim = 0;

        etx_model_free(both.model);
        both.model = NULL;
        ck_assert_ok(
            etx_model_load(&both.model, "examples/models/default.safetensors"));
        if (turn % 2 == 1)
            etx_network_init(both.model->embedding.network, 1);
        ck_assert_ok(etx_embed(
            &n_dim, on_cpu, n_values, both.cpu, both.model, both.event));
        ck_assert_ok(etx_embed(
            &n_dim, on_cuda, n_values, both.cuda, both.model, both.event));
        for (int64_t i = 0; i < etx_event_n_hits(both.event) * n_dim; i++)
            if (!(fabsf(on_cuda[i] - on_cpu[i]) <= 1e-3f))
                ck_abort_msg("turn %d: value %lld is %.7g, not %.7g", (int)turn,
                    (long long)i, (double)on_cuda[i], (double)on_cpu[i]);
    }
}

/* What a thread of its own does with a context of its own. */
struct worker {
    pthread_t thread;
    const struct device_job *both;
    etx_status status;
    etx_tracks *tracks;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct device_job *both = worker->both;
    const etx_context_options options = device_options(ETX_PRECISION_BEST);
    etx_context *context = NULL;

    worker->status = etx_context_create(&context, &options);
    for (int32_t turn = 0; turn < 2 && worker->status == ETX_OK; turn++) {
        etx_tracks_free(worker->tracks);
        worker->tracks = NULL;
        worker->status =
            etx_find_tracks(&worker->tracks, context, both->model, both->event);
    }
    etx_context_free(context);
    return NULL;
}

/* Contexts of several threads on one device at the same time, with one model:
 * each finds what a context alone finds. */
ETX_TEST(test_cuda_threads)
{
    scoped_device_job both = {NULL};
    struct worker worker[3];
    scoped_tracks *alone = NULL;

    if (!start(&both, __func__, events[0], ETX_PRECISION_BEST))
        return;
    ck_assert_ok(etx_find_tracks(&alone, both.cuda, both.model, both.event));
    for (int32_t w = 0; w < 3; w++) {
        worker[w] = (struct worker){.both = &both};
        ck_assert_int_eq(
            pthread_create(&worker[w].thread, NULL, work, &worker[w]), 0);
    }
    for (int32_t w = 0; w < 3; w++) {
        ck_assert_int_eq(pthread_join(worker[w].thread, NULL), 0);
        ck_assert_ok(worker[w].status);
        job_assert_same_tracks(alone, worker[w].tracks);
        etx_tracks_free(worker[w].tracks);
    }
}

/* A device that is not there is told by status and text, and the CPU works. */
ETX_TEST(test_cuda_absent_device)
{
    scoped_context *context = NULL;
    etx_context_options options = device_options(ETX_PRECISION_BEST);
    options.device_index = 4096;
    const etx_status status = etx_context_create(&context, &options);

    ck_assert_str_eq(etx_status_name(status),
        checkop_is_cuda_build ? "ETX_ERR_DEVICE" : "ETX_ERR_UNSUPPORTED");
    ck_assert_error("device cuda: ");
    ck_assert_ptr_null(context);
    ck_assert_ok(etx_context_create(&context, NULL));
}

/* Too little memory is an error, after which the context is as before. */
ETX_TEST(test_cuda_memory_limit, .is_large = 1)
{
    scoped_device_job both = {NULL};
    etx_context_options options = device_options(ETX_PRECISION_FLOAT32);
    scoped_tracks *tracks = NULL;
    scoped_tracks *again = NULL;

    if (!start(&both, __func__, events[2], ETX_PRECISION_FLOAT32))
        return;
    etx_context_free(both.cuda);
    both.cuda = NULL;
    options.memory_limit = 1 << 20;
    ck_assert_ok(etx_context_create(&both.cuda, &options));
    for (int32_t turn = 0; turn < 2; turn++)
        ck_assert_status(
            etx_find_tracks(&tracks, both.cuda, both.model, both.event),
            ETX_ERR_MEMORY);
    ck_assert_ptr_null(tracks);
    etx_context_free(both.cuda);
    options.memory_limit = 0;
    ck_assert_ok(etx_context_create(&both.cuda, &options));
    ck_assert_ok(etx_find_tracks(&tracks, both.cuda, both.model, both.event));
    ck_assert_ok(etx_find_tracks(&again, both.cpu, both.model, both.event));
    job_assert_same_tracks(tracks, again);
}
