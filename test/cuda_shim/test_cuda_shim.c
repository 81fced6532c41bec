/* cuda_shim/test_cuda_shim.c -- what only an emulated device can show: memory
 * that the host must not touch, devices that are current, numbers of launches.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include "device_edges.h"
#include "train_bench.h"

#include <pthread.h>

/* Kernels of a search; where each takes microseconds, their number is what an
 * event of few hits takes. docs/tables/cuda-transfers.md says what they are. */
#define MAX_LAUNCHES       200
#define MAX_LAUNCHES_AGAIN 60 /* once the weights are packed */

#define WORKSPACE ((size_t)32 << 20) /* of cuBLASLt, in bytes */

/* The last context of a device leaves one reference to CUDA's there, so that
 * the next is made in no time; of other devices there is none. */
SHIM_TEST(test_cuda_shim_kept)
{
    for (int32_t i = 0; i < 3; i++) {
        etx_context *context = shim_context_best(0);

        ck_assert_int_eq(shim_retained(0), 2);
        etx_context_free(context);
        ck_assert_int_eq(shim_retained(0), 1);
    }
    ck_assert_int_eq(shim_retained(1), 0);
}

/* A machine without cuBLASLt says so, and a later context finds it. */
SHIM_TEST(test_cuda_shim_no_blas)
{
    const etx_context_options options = {.struct_size = sizeof options,
        .n_threads = 1,
        .device = ETX_DEVICE_CUDA};
    scoped_context *context = NULL;

    shim_hide_blas(1);
    ck_assert_fails(etx_context_create(&context, &options), ETX_ERR_DEVICE,
        "device cuda: cuBLASLt: libcublasLt.so.13: cannot open shared object");
    ck_assert_ptr_null(context);
    ck_assert_int_eq(shim_live(), 0);
    shim_hide_blas(0);
    ck_assert_ok(etx_context_create(&context, &options));
}

/* Whatever device is current in the calling thread, a context works on its own
 * and leaves the other current: the emulated streams report when not. It makes
 * no context of CUDA on the other, which would take memory there. */
SHIM_TEST(test_cuda_shim_current_device, .rows = 2)
{
    shim_set_device(1 - _i);
    struct search search = search_open(_i);

    ck_assert_int_eq(shim_device(), 1 - _i);
    (void)search_find(&search);
    ck_assert_int_eq(shim_device(), 1 - _i);
    search_close(&search);
    ck_assert_int_eq(shim_device(), 1 - _i);
    ck_assert_int_eq(shim_is_active(_i), 1);
    ck_assert_int_eq(shim_is_active(1 - _i), 0);
}

static void *find_on_device(void *argument)
{
    (void)search_find(argument);
    return NULL;
}

/* Contexts on threads of their own, on four devices or several on one, find the
 * tracks of a context alone. */
SHIM_TEST(test_cuda_shim_many_devices, .rows = 2)
{
    static const int32_t devices[2][4] = {{0, 1, 2, 3}, {1, 1, 0, 0}};
    scoped_search alone = search_open(0);
    struct search one[4];
    pthread_t thread[4];

    (void)search_find(&alone);
    for (int32_t c = 0; c < 4; c++) {
        one[c] = alone;
        one[c].context = shim_context_best(devices[_i][c]);
        ck_assert_int_eq(
            pthread_create(&thread[c], NULL, find_on_device, &one[c]), 0);
    }
    for (int32_t c = 0; c < 4; c++) {
        ck_assert_int_eq(pthread_join(thread[c], NULL), 0);
        etx_context_free(one[c].context);
    }
}

/* A search starts no more kernels than it should; what the first made of the
 * weights the next ones find, until other models replace it. */
SHIM_TEST(test_cuda_shim_weights_are_kept)
{
    scoped_search search = search_open(0);
    const int64_t first = search_find(&search);

    ck_assert_int_le(first, MAX_LAUNCHES);
    for (int32_t turn = 0; turn < 4; turn++) {
        const int64_t again = search_find(&search);

        ck_assert_msg(again > 0 && again <= MAX_LAUNCHES_AGAIN,
            "turn %d: %lld launches", (int)turn, (long long)again);
        etx_model_free(search.model);
        ck_assert_ok(etx_model_load(
            &search.model, "examples/models/default.safetensors"));
        ck_assert_int_eq(search_find(&search), first);
    }
}

/* A step and a validation of an embedding and of a filter. */
static void train(etx_context *context)
{
    struct train_bench cpu = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    struct train_bench bench;

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
SHIM_TEST(test_cuda_shim_host_keeps_off)
{
    shim_close_memory(1);
    struct search search = search_open(0);

    (void)search_find(&search);
    search_close(&search);
    train(shim_context_best(0));
    shim_close_memory(0);
}

/* Where cuBLASLt has no algorithm for odd sizes as they lie, or does not run
 * one that was chosen for more rows, another is found. */
SHIM_TEST(test_cuda_shim_refused_products, .rows = 3)
{
    scoped_search search = search_open(0);

    (void)search_find(&search);
    etx_context_free(search.context);
    shim_refuse_products(_i + 1);
    search.context = shim_context_best(0);
    (void)search_find(&search);
    shim_refuse_products(0);
}

/* The first hits of an event. */
static etx_event *first_hits(const etx_event *event, int64_t n)
{
    etx_event *out = etx_test_event(n, etx_event_positions(event));
    scoped float *all = etx_test_alloc(n * 9, sizeof *all);

    for (int64_t i = 0; i < n; i++)
        all[9 * i] = 1.0f;
    ck_assert_ok(etx_event_set_cell_features(out, all));
    return out;
}

/* An event of nearly as many hits looks for no algorithm again. */
SHIM_TEST(test_cuda_shim_algorithms_are_kept)
{
    scoped_search search = search_open(0);
    const int64_t max = etx_event_n_hits(search.event);
    scoped float *point = etx_test_alloc(max * 64, sizeof *point);
    int64_t before = 0;

    for (int64_t n = max; n > max - 60; n -= 20) {
        scoped_event *event = first_hits(search.event, n);
        int64_t n_dim = 0;

        ck_assert_ok(etx_embed(
            &n_dim, point, max * 64, search.context, search.model, event));
        if (n == max)
            before = shim_heuristics();
    }
    ck_assert_int_gt(before, 0);
    ck_assert_int_eq(shim_heuristics(), before);
}

/* What the first event needed in pieces is not held next to the one piece of
 * the next events, and no wait keeps a processor busy to its end. */
SHIM_TEST(test_cuda_shim_pool_bytes)
{
    struct search search = search_open(0);
    const int64_t spins = shim_count().spins;
    int64_t most = 0;

    (void)search_find(&search);
    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++) {
        etx_stage_timing timing = {.struct_size = sizeof timing};

        ck_assert_ok(etx_context_timing(&timing, search.context, stage));
        most = timing.peak_bytes > most ? timing.peak_bytes : most;
    }
    for (int32_t turn = 0; turn < 3; turn++)
        (void)search_find(&search);
    ck_assert_uint_le(shim_pool_bytes(), WORKSPACE + (size_t)(most + most / 4));
    ck_assert_int_eq(shim_count().spins, spins);
    search_close(&search);
    ck_assert_uint_eq(shim_pool_bytes(), 0);
}
