/* api/context.c -- contexts: where and how work runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/arguments.h"
#include "backend/backend.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/options.h"
#include "base/status.h"
#include "data/device_copy.h"

#define ETX_MAX_THREADS 256
#define FIRST_SIZE      ETX_SIZE_UP_TO(etx_context_options, cancel_user)

static const char *const stage_names[ETX_N_STAGES] = {
    "features", "embedding", "graph", "filter", "gnn", "label"};

static const etx_context_options defaults = {
    .struct_size = sizeof(etx_context_options), .n_threads = 1};

etx_status etx_context_options_init(
    etx_context_options *options, size_t struct_size)
{
    return etx_options_init(options, struct_size, &defaults, sizeof defaults,
        FIRST_SIZE, "context options");
}

static etx_status check_precision(const etx_context_options *options)
{
    if (options->precision < ETX_PRECISION_BEST ||
        options->precision > ETX_PRECISION_FLOAT16)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: precision %d is not in 0..%d",
            (int)options->precision, ETX_PRECISION_FLOAT16);
    if (options->precision == ETX_PRECISION_FLOAT16 &&
        options->device != ETX_DEVICE_CUDA)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "context options: precision %d (float16) is for a device, and "
            "device is %d (CPU)",
            ETX_PRECISION_FLOAT16, ETX_DEVICE_CPU);
    return ETX_OK;
}

static etx_status check_keep_graphs(const etx_context_options *options)
{
    if (options->keep_graphs != 0 && options->keep_graphs != 1)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: keep_graphs %d is neither 0 nor 1",
            (int)options->keep_graphs);
    if (options->keep_graphs == 1 && options->device != ETX_DEVICE_CUDA)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "context options: keep_graphs 1 is for a device, and device is %d "
            "(CPU)",
            ETX_DEVICE_CPU);
    return ETX_OK;
}

static etx_status check_options(const etx_context_options *options)
{
    etx_status status = ETX_OK;

    if (options->device != ETX_DEVICE_CPU && options->device != ETX_DEVICE_CUDA)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: device %d is neither 0 (CPU) nor 1 (CUDA)",
            (int)options->device);
    if (options->n_threads < 1 || options->n_threads > ETX_MAX_THREADS)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: n_threads %d is not in 1..%d",
            (int)options->n_threads, ETX_MAX_THREADS);
    if (options->cpu_level < ETX_CPU_BEST ||
        options->cpu_level > ETX_CPU_AVX512)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: cpu_level %d is not in 0..%d",
            (int)options->cpu_level, ETX_CPU_AVX512);
    if (options->device_index < 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: device_index %d is negative",
            (int)options->device_index);
    if (options->memory_limit < 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: memory_limit %lld is negative",
            (long long)options->memory_limit);
    if (options->reserved != 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "context options: reserved is %d and must be 0",
            (int)options->reserved);
    ETX_CHECK(check_keep_graphs(options));
    ETX_CHECK(check_precision(options));
done:
    return status;
}

etx_status etx_context_create(
    etx_context **out, const etx_context_options *options)
{
    etx_status status = ETX_OK;
    struct etx_context *context = NULL;
    etx_context_options known = defaults;

    ETX_CHECK(etx_check_given("etx_context_create", "out", out));
    if (options != NULL)
        ETX_CHECK(etx_options_copy(&known, sizeof known, options,
            options->struct_size, FIRST_SIZE, "context options"));
    ETX_CHECK(check_options(&known));
    ETX_CHECK(etx_alloc(&context, 1, sizeof *context, "context"));
    context->options = known;
    if (known.device == ETX_DEVICE_CUDA)
        ETX_CHECK(etx_backend_cuda_open(context));
    else
        ETX_CHECK(etx_backend_cpu_open(context));
    *out = context;
    context = NULL;
done:
    etx_free(context);
    return status;
}

void etx_context_free(etx_context *context)
{
    if (context == NULL)
        return;
    etx_device_copy_drop_all(context);
    if (context->options.device == ETX_DEVICE_CUDA)
        etx_backend_cuda_close(context);
    else
        etx_backend_cpu_close(context);
    etx_free(context);
}

etx_status etx_timings(etx_stage_timing *out, const etx_context *context)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given("etx_timings", "out", out));
    ETX_CHECK(etx_check_given("etx_timings", "context", context));
    memcpy(out, context->timing, sizeof context->timing);
done:
    return status;
}

const char *etx_stage_name(int32_t stage)
{
    if (stage < 0 || stage >= ETX_N_STAGES)
        return "unknown";
    return stage_names[stage];
}
