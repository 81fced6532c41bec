/* cuda_shim/test_cuda_shim_copies.c -- what goes between the host and a device
 * for an event: hits in, labels out, and nothing that grows with edges.
 *
 * docs/tables/cuda-transfers.md says what each of the copies and waits is.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include "backend/backend.h"
#include "device_edges.h"
#include "stage/model.h"

/* An event of few hits has no sample of points for its radius. */
static const struct {
    const char *name;
    int32_t has_sample;
} events[] = {{"event000000000", 1}, {"event000000001", 0}};
#define N_EVENTS ROWS(events)

#define FLOATS_IN                                                              \
    (3 + 3)               /* of a hit: position, three features of its cells   \
                           */
#define MIN_STEP     4    /* one hit of this many is in the sample */
#define BINS         4096 /* of distances in the sample */
#define N_COUNTS     2    /* waited for, besides the sample */
#define N_PAIRS      1    /* radius graphs, which say two of them */
#define MAX_LAUNCHES 60   /* of kernels, besides the sample */
#define N_SAMPLE     5
#define N_CHECKS     3 /* not waited for: points and scores are finite */

/* What a search takes. */
static struct shim_counts counts_of_search(
    etx_context *context, const etx_model *model, const etx_event *event)
{
    const struct shim_counts before = shim_count();
    scoped_tracks *tracks = NULL;

    ck_assert_ok(etx_find_tracks(&tracks, context, model, event));
    ck_assert_int_gt(etx_tracks_count(tracks), 0);
    return shim_count_since(&before);
}

/* Once the parameters of the model are there: positions, features of cells and
 * the rows of the sample go in; labels, the bins of the sample and counts come
 * out. The networks see all hits: the first pass is for larger events. */
SHIM_TEST(test_cuda_shim_copies, .rows = N_EVENTS)
{
    scoped_context *context = shim_context_best(0);
    scoped_model *model = NULL;
    scoped_event *event = NULL;

    etx_test_open_example(&model, &event, events[_i].name);
    model->first_pass_options.min_event_hits = INT32_MAX;
    const int64_t n = etx_event_n_hits(event);
    const int64_t has_sample = events[_i].has_sample;
    const struct shim_counts first = counts_of_search(context, model, event);
    const struct shim_counts again = counts_of_search(context, model, event);
    const int64_t rows = again.bytes_in / 4 - FLOATS_IN * n;

    ck_assert_int_eq(again.copies_in, 2 + has_sample);
    ck_assert_int_gt(first.copies_in, again.copies_in);
    ck_assert_int_ge(rows, has_sample * n / MIN_STEP / 2);
    ck_assert_int_le(rows, has_sample * n / MIN_STEP * 2);
    ck_assert_int_eq(again.copies_out, 1 + N_COUNTS + N_CHECKS + has_sample);
    ck_assert_int_eq(again.bytes_out,
        4 * n + 8 * (N_COUNTS + N_CHECKS + N_PAIRS + BINS * has_sample));
    ck_assert_int_eq(again.waits, again.copies_out - N_CHECKS);
    ck_assert_int_le(again.kernels, MAX_LAUNCHES + has_sample * N_SAMPLE);
}

/* An array that does not fit the pinned memory goes through it piece by piece.
 */
SHIM_TEST(test_cuda_shim_copies_large)
{
    const int64_t n = 3 << 20; /* 12 MiB, of which 8 are pinned */
    const size_t bytes = (size_t)n * sizeof(int32_t);
    scoped_context *context = shim_context_best(0);
    int32_t *device = NULL;
    scoped int32_t *values = etx_test_alloc(n, sizeof *values);
    scoped int32_t *back = etx_test_alloc(n, sizeof *back);

    for (int64_t i = 0; i < n; i++)
        values[i] = (int32_t)(i * 7 + 1);
    const struct etx_memory *memory = context->stream->memory;

    ck_assert_ok(
        etx_memory_alloc(&device, memory, n, sizeof *device, "values"));
    ck_assert_ok(
        etx_memory_to_device(memory, device, values, n, sizeof *values));
    ck_assert_ok(etx_memory_to_host(memory, back, device, n, sizeof *back));
    ck_assert_mem_eq(back, values, bytes);
    etx_memory_free(memory, device);
}

/* A module map is copied once; then an event's positions and modules go in, and
 * its graph comes out. */
SHIM_TEST(test_cuda_shim_copies_map)
{
    etx_module_map_options learned;
    scoped_context *context = shim_context_best(0);
    scoped_model *plain = NULL;
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    struct shim_counts count[2];

    etx_test_open_example(&plain, &event, events[0].name);
    const etx_event *const one[] = {event};

    ck_assert_ok(etx_module_map_options_init(&learned, sizeof learned));
    ck_assert_ok(etx_model_learn_module_map(&model, plain, 1, one, &learned));
    for (int32_t turn = 0; turn < 2; turn++) {
        const struct shim_counts before = shim_count();
        scoped_graph *graph = NULL;

        ck_assert_ok(etx_graph_build(&graph, context, model, event));
        ck_assert_int_gt(etx_graph_n_edges(graph), 0);
        count[turn] = shim_count_since(&before);
    }
    ck_assert_int_eq(count[0].copies_in, 5);
    ck_assert_int_eq(count[1].copies_in, 4);
    ck_assert_int_eq(count[1].bytes_in, (3 + 3) * 4 * etx_event_n_hits(event));
}
