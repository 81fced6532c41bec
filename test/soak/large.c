/* large.c -- more hits, and more pairs of them, than memory holds.
 *
 *     large HITS       (default 10000000)
 *
 * Finds tracks among hits at random in the volume of the detector, with
 * different limits of memory, and searches neighbours of equal points,
 * of which there are more than 2^31 pairs. Each call must succeed or be refused
 * with a message that names a bound, and the library's memory must stay below
 * the limit and what edges need besides, at 16 of the 32 bytes that the limit
 * counts for each. Then a shipped event has the same tracks
 * as before. Runs in the root of the repository.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"
#include "base/random.h"

#include <exatrkx/graph.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_EQUAL 70000 /* equal points: 2.4e9 pairs */
#define MODEL   "examples/models/default.safetensors"
#define EVENT   "examples/data/event000000001"
#define MIB     ((int64_t)1 << 20)
#define BESIDES (16 * MIB) /* what has no limit: the model, packed weights */

static const int64_t limits[] = {64 * MIB, 1024 * MIB, 4096 * MIB};

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "large: %s (%s)\n", what, etx_last_error());
    exit(1);
}

static etx_context *context_with(int64_t limit)
{
    etx_context_options options;
    etx_context *context = NULL;

    require(etx_context_options_init(&options, sizeof options) == ETX_OK,
        "options");
    options.n_threads = 2;
    options.memory_limit = limit;
    require(etx_context_create(&context, &options) == ETX_OK, "context");
    return context;
}

/* Refused for what is too large, or done, within the limit. */
static void expect_bounded(
    etx_status status, int64_t limit, int64_t before, const char *what)
{
    const int64_t peak = etx_heap_peak() - before;

    require(status == ETX_OK ||
                ((status == ETX_ERR_MEMORY || status == ETX_ERR_LIMIT) &&
                    etx_last_error()[0] != '\0'),
        what);
    printf("large: %s, limit %lld MiB: peak %lld MiB, %s\n", what,
        (long long)(limit / MIB), (long long)(peak / MIB),
        status == ETX_OK ? "done" : etx_last_error());
    require(peak <= limit + limit / 2 + BESIDES, "more memory than the limit");
}

static etx_event *random_event(int64_t n)
{
    float *x = malloc((size_t)n * 3 * sizeof *x);
    struct etx_random random;
    etx_event *event = NULL;

    require(x != NULL, "no memory for the test");
    etx_random_init(&random, 1, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        const float r = 30.0f + 970.0f * etx_random_uniform(&random);
        const float phi = 6.2831853f * etx_random_uniform(&random);

        x[3 * i] = r * cosf(phi);
        x[3 * i + 1] = r * sinf(phi);
        x[3 * i + 2] = 6000.0f * (etx_random_uniform(&random) - 0.5f);
    }
    require(etx_event_create(&event, n, NULL, x) == ETX_OK, "the event");
    free(x);
    return event;
}

static etx_status find(int64_t *n_tracks, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    etx_tracks *tracks = NULL;
    const etx_status status = etx_find_tracks(&tracks, context, model, event);

    *n_tracks = etx_tracks_count(tracks);
    etx_tracks_free(tracks);
    return status;
}

static void search_equal_points(int64_t limit)
{
    const etx_graph_options options = {
        .struct_size = sizeof options, .radius = 1.0f, .max_edges = INT32_MAX};
    etx_context *context = context_with(limit);
    float *points = calloc(N_EQUAL, 3 * sizeof *points);
    const int64_t before = etx_heap_in_use();
    etx_graph *graph = NULL;
    etx_status status;

    require(points != NULL, "no memory for the test");
    etx_heap_reset_peak();
    status = etx_graph_build_radius(
        &graph, context, N_EQUAL, 3, points, NULL, &options);
    require(status != ETX_OK && graph == NULL, "2^31 edges");
    expect_bounded(status, limit, before, "2^31 pairs");
    free(points);
    etx_context_free(context);
}

int main(int argc, char **argv)
{
    const int64_t n_hits = argc > 1 ? atoll(argv[1]) : 10000000;
    etx_model *model = NULL;
    etx_event *small = NULL;
    etx_event *large;
    int64_t expected, found;

    require(etx_model_load(&model, MODEL) == ETX_OK &&
                etx_event_read_trackml(&small, EVENT, NULL) == ETX_OK,
        "model and event");
    large = random_event(n_hits);
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        etx_context *context = context_with(limits[k]);
        const int64_t before = etx_heap_in_use();

        require(find(&expected, context, model, small) == ETX_OK, "small");
        etx_heap_reset_peak();
        expect_bounded(find(&found, context, model, large), limits[k], before,
            "many hits");
        require(find(&found, context, model, small) == ETX_OK &&
                    found == expected && found > 10,
            "the event that follows");
        etx_context_free(context);
        search_equal_points(limits[k]);
    }
    etx_event_free(large);
    etx_event_free(small);
    etx_model_free(model);
    return etx_heap_in_use() != 0;
}
