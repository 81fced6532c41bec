/* cuda_shim/test_cuda_shim.c -- what only an emulated device can show:
 * failures at every call, and memory that the host must not touch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include "shim.h"
#include "support.h"
#include "train_bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Kernels of a search; where each takes microseconds, their number is what an
 * event of few hits takes. docs/tables/cuda-transfers.md says what they are. */
#define MAX_LAUNCHES       200
#define MAX_LAUNCHES_AGAIN 60 /* once the weights are packed */

#define WORKSPACE ((size_t)32 << 20) /* of cuBLASLt, in bytes */

/* A failure at each call would run the pipeline thousands of times. */
#define MAX_FAILURES 8

/* What a track search needs. */
struct search {
    etx_model *model;
    etx_event *event;
};

static void open_search(struct search *search)
{
    *search = (struct search){NULL};
    etx_test_open_part(&search->model, &search->event, "event000000000");
}

static void close_search(struct search *search)
{
    etx_event_free(search->event);
    etx_model_free(search->model);
}

static etx_status open_device(etx_context **out)
{
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    return etx_context_create(out, &options);
}

/* A context that cannot be made leaves nothing behind. */
ETX_TEST(test_cuda_shim_no_context)
{
    etx_context *context = NULL;
    int64_t number = 0;

    shim_fail_call(number);
    while (open_device(&context) != ETX_OK) {
        ck_assert_error("device cuda: ");
        ck_assert_ptr_null(context);
        ck_assert_int_eq(shim_live(), 0);
        shim_fail_call(++number);
    }
    ck_assert_int_eq(shim_calls(), number);
    ck_assert_int_gt(number, 10);
    etx_context_free(context);
    ck_assert_int_eq(shim_live(), 0);
}

/* Whichever call of the runtime fails in a search, the answer is an error, or
 * the right one where nothing depends on the call, as when memory is given
 * back; nothing is lost and the next search is right. */
ETX_TEST(test_cuda_shim_fails_anywhere)
{
    struct search search;
    etx_context *context = NULL;
    etx_tracks *tracks = NULL;

    open_search(&search);
    ck_assert_ok(open_device(&context));
    ck_assert_ok(etx_find_tracks(&tracks, context, search.model, search.event));
    const int64_t expected = etx_tracks_count(tracks);

    etx_tracks_free(tracks);
    shim_fail_call(-1);
    ck_assert_ok(etx_find_tracks(&tracks, context, search.model, search.event));
    etx_tracks_free(tracks);
    const int64_t n_calls = shim_calls();
    const int64_t n_live = shim_live();
    int32_t n_failed = 0;

    for (int64_t f = 0; f < MAX_FAILURES; f++) {
        tracks = NULL;
        shim_fail_call(f * n_calls / MAX_FAILURES);
        const etx_status status =
            etx_find_tracks(&tracks, context, search.model, search.event);

        ck_assert_msg(status == ETX_OK || status == ETX_ERR_MEMORY ||
                          status == ETX_ERR_DEVICE,
            "call %lld of %lld: %s: %s",
            (long long)(f * n_calls / MAX_FAILURES), (long long)n_calls,
            etx_status_name(status), etx_last_error());
        n_failed += status != ETX_OK;
        if (status == ETX_OK)
            ck_assert_int_eq(etx_tracks_count(tracks), expected);
        else
            ck_assert_ptr_null(tracks);
        etx_tracks_free(tracks);
        ck_assert_int_le(shim_live(), n_live);
    }
    ck_assert_int_gt(n_failed, MAX_FAILURES / 2);
    shim_fail_call(-1);
    ck_assert_ok(etx_find_tracks(&tracks, context, search.model, search.event));
    ck_assert_int_eq(etx_tracks_count(tracks), expected);
    etx_tracks_free(tracks);
    etx_context_free(context);
    ck_assert_int_eq(shim_live(), 0);
    close_search(&search);
}

/* The last context of a device leaves one reference to CUDA's there, so that
 * the next is made in no time; of other devices there is none. */
ETX_TEST(test_cuda_shim_kept)
{
    etx_context *context = NULL;

    for (int32_t i = 0; i < 3; i++) {
        ck_assert_ok(open_device(&context));
        ck_assert_int_eq(shim_retained(0), 2);
        etx_context_free(context);
        ck_assert_int_eq(shim_retained(0), 1);
    }
    ck_assert_int_eq(shim_retained(1), 0);
}

/* A machine without cuBLASLt says so, and a later context finds it. */
ETX_TEST(test_cuda_shim_no_blas)
{
    etx_context *context = NULL;

    shim_hide_blas(1);
    ck_assert_fails(open_device(&context), ETX_ERR_DEVICE,
        "device cuda: cuBLASLt: libcublasLt.so.13: cannot open shared object");
    ck_assert_ptr_null(context);
    ck_assert_int_eq(shim_live(), 0);
    shim_hide_blas(0);
    ck_assert_ok(open_device(&context));
    etx_context_free(context);
    ck_assert_int_eq(shim_live(), 0);
}

/* Whatever device is current in the calling thread, a context works on its own
 * and leaves the other current: the emulated streams report when not. */
ETX_TEST(test_cuda_shim_current_device)
{
    struct search search;
    etx_context_options options;

    open_search(&search);
    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    for (int32_t index = 0; index < 2; index++) {
        etx_context *context = NULL;
        etx_tracks *tracks = NULL;

        options.device_index = index;
        shim_set_device(1 - index);
        ck_assert_ok(etx_context_create(&context, &options));
        ck_assert_int_eq(shim_device(), 1 - index);
        ck_assert_ok(
            etx_find_tracks(&tracks, context, search.model, search.event));
        ck_assert_int_gt(etx_tracks_count(tracks), 0);
        ck_assert_int_eq(shim_device(), 1 - index);
        etx_tracks_free(tracks);
        etx_context_free(context);
        ck_assert_int_eq(shim_device(), 1 - index);
    }
    shim_set_device(0);
    close_search(&search);
}

/* A context on one device makes no context of CUDA on another: it would take
 * memory there. */
ETX_TEST(test_cuda_shim_other_device_untouched)
{
    struct search search;
    etx_context_options options;
    etx_context *context = NULL;
    etx_tracks *tracks = NULL;

    open_search(&search);
    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    options.device_index = 1;
    ck_assert_ok(etx_context_create(&context, &options));
    ck_assert_ok(etx_find_tracks(&tracks, context, search.model, search.event));
    etx_tracks_free(tracks);
    etx_context_free(context);
    ck_assert_int_eq(shim_is_active(1), 1);
    ck_assert_int_eq(shim_is_active(0), 0);
    close_search(&search);
}

/* A context on a device, and the tracks that it finds on a thread. */
struct device_search {
    const struct search *search;
    int32_t device_index;
    etx_tracks *tracks;
    etx_status status;
};

static void *find_on_device(void *argument)
{
    struct device_search *one = argument;
    etx_context_options options;
    etx_context *context = NULL;

    one->status = etx_context_options_init(&options, sizeof options);
    options.device = ETX_DEVICE_CUDA;
    options.device_index = one->device_index;
    if (one->status == ETX_OK)
        one->status = etx_context_create(&context, &options);
    if (one->status == ETX_OK)
        one->status = etx_find_tracks(
            &one->tracks, context, one->search->model, one->search->event);
    etx_context_free(context);
    return NULL;
}

static void check_same(const etx_tracks *a, const etx_tracks *b)
{
    const int64_t n = etx_tracks_count(a);

    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(n, etx_tracks_count(b));
    ck_assert_mem_eq(etx_tracks_offsets(a), etx_tracks_offsets(b),
        (size_t)(n + 1) * sizeof(int64_t));
    ck_assert_mem_eq(etx_tracks_hits(a), etx_tracks_hits(b),
        (size_t)etx_tracks_offsets(a)[n] * sizeof(int32_t));
}

/* Contexts on threads of their own, on four devices or several on one, find the
 * tracks of a context alone. */
ETX_TEST(test_cuda_shim_many_devices, .rows = 2)
{
    static const int32_t devices[2][4] = {{0, 1, 2, 3}, {1, 1, 0, 0}};
    struct device_search alone = {.device_index = 0};
    struct device_search one[4];
    pthread_t thread[4];
    struct search search;

    open_search(&search);
    alone.search = &search;
    find_on_device(&alone);
    ck_assert_ok(alone.status);
    for (int32_t c = 0; c < 4; c++) {
        one[c] = (struct device_search){
            .search = &search, .device_index = devices[_i][c]};
        ck_assert_int_eq(
            pthread_create(&thread[c], NULL, find_on_device, &one[c]), 0);
    }
    for (int32_t c = 0; c < 4; c++) {
        ck_assert_int_eq(pthread_join(thread[c], NULL), 0);
        ck_assert_int_eq(one[c].status, ETX_OK);
        check_same(one[c].tracks, alone.tracks);
        etx_tracks_free(one[c].tracks);
    }
    etx_tracks_free(alone.tracks);
    ck_assert_int_eq(shim_live(), 0);
    close_search(&search);
}

/* Tracks of a search, and the kernels that it started. */
static int64_t find_tracks(
    etx_tracks **tracks, etx_context *context, const struct search *search)
{
    const int64_t before = shim_count().kernels;

    ck_assert_ok(
        etx_find_tracks(tracks, context, search->model, search->event));
    return shim_count().kernels - before;
}

static void assert_same_tracks(const etx_tracks *a, const etx_tracks *b)
{
    const int64_t n = etx_tracks_count(a);

    ck_assert_int_eq(n, etx_tracks_count(b));
    ck_assert_mem_eq(etx_tracks_offsets(a), etx_tracks_offsets(b),
        (size_t)(n + 1) * sizeof(int64_t));
    ck_assert_mem_eq(etx_tracks_hits(a), etx_tracks_hits(b),
        (size_t)etx_tracks_offsets(a)[n] * sizeof(int32_t));
}

/* A search starts no more kernels than it should; what the first made of the
 * weights the next ones find, until other models replace it. */
ETX_TEST(test_cuda_shim_weights_are_kept)
{
    struct search search;
    etx_context *context = NULL;
    etx_tracks *expected = NULL;
    etx_tracks *tracks = NULL;

    open_search(&search);
    ck_assert_ok(open_device(&context));
    const int64_t first = find_tracks(&expected, context, &search);

    ck_assert_int_le(first, MAX_LAUNCHES);
    for (int32_t turn = 0; turn < 4; turn++) {
        int64_t again = find_tracks(&tracks, context, &search);

        assert_same_tracks(expected, tracks);
        etx_tracks_free(tracks);
        ck_assert_msg(again > 0 && again <= MAX_LAUNCHES_AGAIN,
            "turn %d: %lld launches", (int)turn, (long long)again);
        etx_model_free(search.model);
        ck_assert_ok(etx_model_load(
            &search.model, "examples/models/default.safetensors"));
        again = find_tracks(&tracks, context, &search);
        assert_same_tracks(expected, tracks);
        etx_tracks_free(tracks);
        ck_assert_int_eq(again, first);
    }
    etx_tracks_free(expected);
    etx_context_free(context);
    ck_assert_int_eq(shim_live(), 0);
    close_search(&search);
}

/* A step and a validation of an embedding and of a filter. */
static void train(etx_context *context)
{
    struct train_bench cpu;
    struct train_bench bench;

    cpu = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    train_bench_open_in(&bench, context, ETX_TRAIN_EMBEDDING, NULL);
    train_bench_steps(bench.trainer, 1);
    (void)train_bench_validate(bench.trainer);
    etx_trainer_free(bench.trainer);
    ck_assert_ok(etx_trainer_model(&bench.start, cpu.trainer));
    train_bench_add(&bench, ETX_TRAIN_FILTER, NULL);
    train_bench_steps(bench.trainer, 1);
    (void)train_bench_validate(bench.trainer);
    train_bench_close(&bench);
    train_bench_close(&cpu);
}

/* The host never touches memory of the device, be it to find tracks or to
 * train. */
ETX_TEST(test_cuda_shim_host_keeps_off)
{
    struct search search;
    etx_context *context = NULL;
    etx_tracks *tracks = NULL;

    shim_close_memory(1);
    ck_assert_ok(open_device(&context));
    open_search(&search);
    ck_assert_ok(etx_find_tracks(&tracks, context, search.model, search.event));
    ck_assert_int_gt(etx_tracks_count(tracks), 0);
    etx_tracks_free(tracks);
    close_search(&search);
    train(context);
    ck_assert_int_eq(shim_live(), 0);
    shim_close_memory(0);
}

static void find_and_compare(etx_context *context, const struct search *search,
    const etx_tracks *expected)
{
    etx_tracks *tracks = NULL;

    ck_assert_ok(
        etx_find_tracks(&tracks, context, search->model, search->event));
    assert_same_tracks(expected, tracks);
    etx_tracks_free(tracks);
}

/* Where cuBLASLt has no algorithm for odd sizes as they lie, or does not run
 * one that was chosen for more rows, another is found. */
ETX_TEST(test_cuda_shim_refused_products, .rows = 3)
{
    struct search search;
    etx_context *context = NULL;
    etx_tracks *expected = NULL;

    open_search(&search);
    ck_assert_ok(open_device(&context));
    (void)find_tracks(&expected, context, &search);
    etx_context_free(context);
    shim_refuse_products(_i + 1);
    ck_assert_ok(open_device(&context));
    find_and_compare(context, &search, expected);
    shim_refuse_products(0);
    etx_tracks_free(expected);
    etx_context_free(context);
    close_search(&search);
}

/* The first hits of an event. */
static etx_event *first_hits(const etx_event *event, int64_t n)
{
    etx_event *out = NULL;
    float cells[9] = {1.0f};
    float *all = etx_test_alloc(n * 9, sizeof *all);

    for (int64_t i = 0; i < n; i++)
        memcpy(all + 9 * i, cells, sizeof cells);
    ck_assert_ok(etx_event_create(&out, n, NULL, etx_event_positions(event)));
    ck_assert_ok(etx_event_set_cell_features(out, all));
    free(all);
    return out;
}

/* An event of nearly as many hits looks for no algorithm again. */
ETX_TEST(test_cuda_shim_algorithms_are_kept)
{
    struct search search;
    etx_context *context = NULL;
    int64_t before = 0;

    open_search(&search);
    ck_assert_ok(open_device(&context));
    const int64_t max = etx_event_n_hits(search.event);
    float *point = etx_test_alloc(max * 64, sizeof *point);

    for (int64_t n = max; n > max - 60; n -= 20) {
        etx_event *event = first_hits(search.event, n);
        int64_t n_dim = 0;

        ck_assert_ok(
            etx_embed(&n_dim, point, max * 64, context, search.model, event));
        if (n == max)
            before = shim_heuristics();
        etx_event_free(event);
    }
    ck_assert_int_gt(before, 0);
    ck_assert_int_eq(shim_heuristics(), before);
    free(point);
    etx_context_free(context);
    close_search(&search);
}

/* What the first event needed in pieces is not held next to the one piece of
 * the next events, and no wait keeps a processor busy to its end. */
ETX_TEST(test_cuda_shim_pool_bytes)
{
    struct search search;
    etx_context *context = NULL;
    etx_tracks *expected = NULL;
    size_t most = 0;

    open_search(&search);
    ck_assert_ok(open_device(&context));
    const int64_t spins = shim_count().spins;

    (void)find_tracks(&expected, context, &search);
    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++) {
        etx_stage_timing timing = {.struct_size = sizeof timing};

        ck_assert_ok(etx_context_timing(&timing, context, stage));
        if ((size_t)timing.peak_bytes > most)
            most = (size_t)timing.peak_bytes;
    }
    for (int32_t turn = 0; turn < 3; turn++)
        find_and_compare(context, &search, expected);
    ck_assert_uint_le(shim_pool_bytes(), WORKSPACE + most + most / 4);
    ck_assert_int_eq(shim_count().spins, spins);
    etx_tracks_free(expected);
    etx_context_free(context);
    ck_assert_uint_eq(shim_pool_bytes(), 0);
    close_search(&search);
}

/* Several events in one call on a device: the tracks of each. */
ETX_TEST(test_cuda_shim_batch)
{
    struct search search;
    etx_context *context = NULL;
    etx_tracks *expected = NULL;
    etx_tracks *tracks[2] = {NULL};

    open_search(&search);
    const etx_event *const events[2] = {search.event, search.event};

    ck_assert_ok(open_device(&context));
    (void)find_tracks(&expected, context, &search);
    ck_assert_ok(
        etx_find_tracks_batch(tracks, context, search.model, 2, events));
    for (int32_t e = 0; e < 2; e++) {
        assert_same_tracks(expected, tracks[e]);
        etx_tracks_free(tracks[e]);
    }
    etx_tracks_free(expected);
    etx_context_free(context);
    close_search(&search);
}
