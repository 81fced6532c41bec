/* test_context.c -- contexts: what their options refuse.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/cpu.h"

#include <pthread.h>
#include <stddef.h>

#define BAD(field, value, text)                                                \
    {                                                                          \
        CHANGE(etx_context_options, field, value), ETX_ERR_ARGUMENT, text      \
    }

static const struct etx_test_change context_rows[] = {
    BAD(device, 7, "device 7"),
    {CHANGE(etx_context_options, keep_graphs, 1), ETX_ERR_UNSUPPORTED,
        "keep_graphs 1"},
    {CHANGE(etx_context_options, keep_graphs, 2), ETX_ERR_UNSUPPORTED,
        "keep_graphs 2"},
    {CHANGE(etx_context_options, precision, ETX_PRECISION_FLOAT16),
        ETX_ERR_UNSUPPORTED, "precision 2 (float16)"},
    {CHANGE(etx_context_options, precision, ETX_PRECISION_TF32),
        ETX_ERR_UNSUPPORTED, "precision 4 (TF32)"},
};

ETX_TEST(test_context_refuses, .rows = ROWS(context_rows))
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    etx_test_set(&options, &context_rows[_i]);
    ck_assert_fails(etx_context_create(&context, &options),
        context_rows[_i].status, context_rows[_i].error);
    ck_assert_ptr_null(context);
}

/* bfloat16 with the reference, or where the processor has it. */
ETX_TEST(test_context_bfloat16)
{
    static const int32_t levels[] = {ETX_CPU_BEST, ETX_CPU_REF, ETX_CPU_AVX2};
    const int32_t has[] = {etx_cpu_has_bfloat16(), 1, 0};
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.precision = ETX_PRECISION_BFLOAT16;
    for (int32_t k = 0; k < 3; k++) {
        scoped_context *context = NULL;

        options.cpu_level = levels[k];
        if (etx_cpu_level() < levels[k])
            continue;
        if (has[k] || etx_cpu_level() == ETX_CPU_REF)
            ck_assert_ok(etx_context_create(&context, &options));
        else
            ck_assert_fails(etx_context_create(&context, &options),
                ETX_ERR_UNSUPPORTED, "AVX512_BF16");
    }
    options.cpu_level = ETX_CPU_BEST;
    options.device = ETX_DEVICE_CUDA;
    etx_context *device = NULL;
    ck_assert_fails(
        etx_context_create(&device, &options), ETX_ERR_UNSUPPORTED, "bfloat16");
}

/* int16 with the reference, AVX2 and AVX512_VNNI. */
ETX_TEST(test_context_int16)
{
    etx_context_options options;
    etx_context *device = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.precision = ETX_PRECISION_INT16;
    ETX_EACH_CPU_LEVEL (level) {
        scoped_context *context = NULL;

        options.cpu_level = level;
        if (level == ETX_CPU_NEON ||
            (level == ETX_CPU_AVX512 && !etx_cpu_has_vnni()))
            ck_assert_fails(etx_context_create(&context, &options),
                ETX_ERR_UNSUPPORTED, "AVX512_VNNI or cpu_level 2 (avx2)");
        else
            ck_assert_ok(etx_context_create(&context, &options));
    }
    options.cpu_level = ETX_CPU_BEST;
    options.device = ETX_DEVICE_CUDA;
    ck_assert_fails(
        etx_context_create(&device, &options), ETX_ERR_UNSUPPORTED, "int16");
}

ETX_TEST(test_context_timing)
{
    etx_stage_timing timing = {.struct_size = sizeof timing};
    scoped_context *context = etx_test_context();

    ck_assert_refused(etx_context_timing(&timing, context, ETX_N_STAGES),
        "stage 8 is not in 0..7");
    timing.struct_size = 8;
    ck_assert_refused(etx_context_timing(&timing, context, 0), "struct_size 8");
    ck_assert_str_eq(etx_stage_name(ETX_STAGE_GNN), "gnn");
    ck_assert_str_eq(etx_stage_name(-1), "unknown");
    ck_assert_str_eq(etx_stage_name(ETX_N_STAGES), "unknown");
}

static int32_t count_poll(void *user)
{
    ++*(int64_t *)user;
    return 0;
}

/* Polls of one radius graph with the interval. */
static int64_t count_polls(int32_t interval)
{
    static float points[3 * 20000];
    scoped_context *context = NULL;
    scoped_graph *graph = NULL;
    etx_context_options options;
    etx_graph_options wanted;
    int64_t n = 0;

    for (int32_t k = 0; k < 3 * 20000; k++)
        points[k] = (float)(k * 7919 % 10007);
    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    ck_assert_ok(etx_graph_options_init(&wanted, sizeof wanted));
    options.cancel = count_poll;
    options.cancel_user = &n;
    options.cancel_interval = interval;
    wanted.radius = 10.0f;
    ck_assert_ok(etx_context_create(&context, &options));
    ck_assert_ok(etx_graph_build_radius(
        &graph, context, 20000, 3, points, NULL, &wanted));
    return n;
}

ETX_TEST(test_context_polls_seldom)
{
    const int64_t always = count_polls(0);

    ck_assert_int_gt(always, 2);
    ck_assert_int_eq(count_polls(INT32_MAX), 1);
}

/* A callback that makes calls, which would poll it again. */
static int32_t call_meanwhile(void *user)
{
    static const float position[3];
    scoped_event *event = NULL;

    ++*(int *)user;
    ck_assert_int_eq(etx_is_cancelled(), 0);
    ck_assert_ok(etx_event_create(&event, 1, &(int64_t){1LL << 40}, position));
    return 0;
}

ETX_TEST(test_context_callback_calls, .rows = 2)
{
    const int32_t n_threads = _i + 1;
    scoped_context *context = NULL;
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_tracks *tracks = NULL;
    int n = 0;

    etx_test_open_example(&model, &event, "event000000001");
    etx_set_cancel(call_meanwhile, &n);
    ck_assert_int_eq(etx_is_cancelled(), 0);
    ck_assert_int_eq(n, 1);
    context = etx_test_context_with(n_threads, 0, call_meanwhile, &n);
    ck_assert_ok(etx_find_tracks(&tracks, context, model, event));
    ck_assert_int_gt(n, 2);
    etx_set_cancel(NULL, NULL);
}

static void *ask_elsewhere(void *argument)
{
    static int yes;

    (void)argument;
    return etx_is_cancelled() ? &yes : NULL;
}

/* The callback is of this thread; one that has said so says it again. */
ETX_TEST(test_context_none_is_cancelled)
{
    const float position[3] = {0.0f};
    scoped_event *event = NULL;
    pthread_t thread;
    void *answer = &thread;

    ck_assert_int_eq(etx_is_cancelled(), 0);
    etx_set_cancel(etx_test_cancel, NULL);
    ck_assert_int_eq(etx_is_cancelled(), 1);
    ck_assert_int_eq(etx_is_cancelled(), 1);
    ck_assert_fails(
        etx_event_create(&event, 1, &(int64_t){1LL << 40}, position),
        ETX_ERR_CANCELLED, "cancelled by the caller");
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, &answer), 0);
    ck_assert_ptr_null(answer);
    etx_set_cancel(NULL, NULL);
    ck_assert_int_eq(etx_is_cancelled(), 0);
    ck_assert_ok(etx_event_create(&event, 1, &(int64_t){1LL << 40}, position));
}
