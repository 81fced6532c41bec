/* test_context.c -- contexts: what their options refuse.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stddef.h>

static const struct {
    size_t offset;
    int32_t value;
    etx_status status;
    const char *text;
} context_rows[] = {
    {offsetof(etx_context_options, device), 7, ETX_ERR_ARGUMENT, "device 7"},
    {offsetof(etx_context_options, n_threads), 0, ETX_ERR_ARGUMENT,
        "n_threads 0"},
    {offsetof(etx_context_options, n_threads), 257, ETX_ERR_ARGUMENT, "1..256"},
    {offsetof(etx_context_options, cpu_level), 4, ETX_ERR_ARGUMENT,
        "cpu_level 4"},
    {offsetof(etx_context_options, cpu_level), -1, ETX_ERR_ARGUMENT,
        "cpu_level -1"},
    {offsetof(etx_context_options, device_index), -1, ETX_ERR_ARGUMENT,
        "device_index -1"},
    {offsetof(etx_context_options, reserved), 1, ETX_ERR_ARGUMENT, "reserved"},
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

ETX_TEST(test_context_refuses, .rows = ROWS(context_rows))
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    memcpy((char *)&options + context_rows[_i].offset, &context_rows[_i].value,
        sizeof context_rows[_i].value);
    ck_assert_fails(etx_context_create(&context, &options),
        context_rows[_i].status, context_rows[_i].text);
    ck_assert_ptr_null(context);
}

ETX_TEST(test_context_null)
{
    etx_stage_timing timing = {.struct_size = sizeof timing};
    etx_context *context = NULL;

    ck_assert_refused(etx_context_create(NULL, NULL), "out is NULL");
    ck_assert_refused(etx_context_options_init(NULL, 64), "");
    ck_assert_refused(etx_context_timing(&timing, NULL, 0), "context");
    ck_assert_ok(etx_context_create(&context, NULL));
    ck_assert_refused(etx_context_timing(&timing, context, ETX_N_STAGES),
        "stage 6 is not in 0..5");
    timing.struct_size = 8;
    ck_assert_refused(etx_context_timing(&timing, context, 0), "struct_size 8");
    etx_context_free(context);
    etx_context_free(NULL);
    ck_assert_str_eq(etx_stage_name(ETX_STAGE_GNN), "gnn");
    ck_assert_str_eq(etx_stage_name(-1), "unknown");
    ck_assert_str_eq(etx_stage_name(ETX_N_STAGES), "unknown");
}

static etx_status make_context(void *argument)
{
    etx_context *context = NULL;
    etx_status status;

    (void)argument;
    status = etx_context_create(&context, NULL);
    etx_context_free(context);
    return status;
}

ETX_TEST(test_context_out_of_memory)
{
    ck_assert_int_gt(etx_test_out_of_memory(make_context, NULL), 0);
}
