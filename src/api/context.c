/* api/context.c -- contexts: device, threads and memory of a call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"
#include "backend/backend.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/graph_mirror.h"
#include "stage/options.h"
#include "stage/stage.h"

#include <math.h>

/* sizeof(etx_stage_timing) in its first release. */
#define TIMING_FIRST_SIZE ETX_SIZE_UP_TO(etx_stage_timing, n_edges)

static const char *const stage_names[ETX_N_STAGES] = {"features", "embedding",
    "graph", "filter", "gnn", "label", "completion", "first_pass"};

/* A device of the list, and options that its backend accepts. */
static etx_status check_device(const etx_context_options *options)
{
    const struct etx_range range = {
        "device", options->device, 0, etx_n_backends - 1};
    const struct etx_backend *backend;
    etx_status status;

    ETX_CHECK(etx_check_ranges("context options", &range, 1));
    backend = &etx_backends[options->device];
    if (options->keep_graphs != 0 && !backend->keeps_graphs)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "context options: keep_graphs %d needs a device, and device is %d "
            "(CPU)",
            (int)options->keep_graphs, (int)options->device);
    if (options->stream != NULL && options->device == ETX_DEVICE_CPU)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "context options: a stream needs a device, and device is %d (CPU)",
            (int)options->device);
    if ((options->precision == ETX_PRECISION_FLOAT16 ||
            options->precision == ETX_PRECISION_TF32) &&
        !backend->has_float16)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "context options: precision %d (%s) needs a device, and device is "
            "%d (CPU)",
            (int)options->precision,
            options->precision == ETX_PRECISION_TF32 ? "TF32" : "float16",
            (int)options->device);
    if ((options->precision == ETX_PRECISION_BFLOAT16 ||
            options->precision == ETX_PRECISION_INT16) &&
        !backend->has_bfloat16)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "context options: precision %d (%s) needs the CPU, and device is "
            "%d",
            (int)options->precision,
            options->precision == ETX_PRECISION_INT16 ? "int16" : "bfloat16",
            (int)options->device);
done:
    return status;
}

/* Poll the caller's callback when cancel_interval has passed since the last
 * time. */
static int32_t poll_seldom(void *user)
{
    struct etx_context *context = user;
    const double now = etx_now();

    if (now - context->last_poll < 1e-3 * context->options.cancel_interval)
        return 0;
    context->last_poll = now;
    return context->cancel(context->cancel_user);
}

etx_status etx_context_create(
    etx_context **out, const etx_context_options *options)
{
    etx_context_options used;
    struct etx_context *context = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    etx_options_preset(&used, &etx_context_options_type);
    ETX_CHECK(etx_options_accept(
        &used, "context options", options, &etx_context_options_type));
    ETX_CHECK(check_device(&used));
    ETX_NEW(context, 1, "context");
    context->options = used;
    if (used.cancel != NULL && used.cancel_interval > 0) {
        context->options.cancel = poll_seldom;
        context->options.cancel_user = context;
        context->cancel = used.cancel;
        context->cancel_user = used.cancel_user;
        context->last_poll = -HUGE_VAL;
    }
    ETX_CHECK(etx_backend_open(context));
    *out = context;
    context = NULL;
done:
    etx_free(context);
    return etx_call_end(&host, status);
}

void etx_context_free(etx_context *context)
{
    if (context == NULL)
        return;
    etx_graph_mirrors_free(context);
    etx_batch_free(context);
    etx_backend_close(context);
    etx_free(context);
}

etx_status etx_context_timing(
    etx_stage_timing *out, const etx_context *context, int32_t stage)
{
    const struct etx_range range = {"stage", stage, 0, ETX_N_STAGES - 1};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(out), ETX_GIVEN(context), ETX_END));
    ETX_CHECK(etx_check_ranges(__func__, &range, 1));
    ETX_CHECK(etx_report_check(out, TIMING_FIRST_SIZE, "stage timing"));
    const etx_stage_timing timing = etx_stage_timing_of(context, stage);
    etx_report_write(out, &timing, sizeof *out);
done:
    return etx_call_end(&host, status);
}

const char *etx_stage_name(int32_t stage)
{
    if (stage < 0 || stage >= ETX_N_STAGES)
        return "unknown";
    return stage_names[stage];
}
