/* api/label.c -- labels and tracks of a scored graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"

#include "base/check.h"
#include "base/status.h"
#include "stage/options.h"
#include "stage/stage.h"
#include "stage/track_building/track_building.h"

#include <inttypes.h>

static etx_status check_event(const char *function, const etx_graph *graph,
    const etx_event *event, const etx_label_options *options)
{
    if (event != NULL)
        return etx_check_hits(function, graph->n_nodes, event);
    if (etx_label_method_needs_positions(options->method))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: event is NULL and label method %d needs its positions",
            function, options->method);
    return ETX_OK;
}

/* All arguments but the output; *used: the options. */
static etx_status check_call(etx_label_options *used, const char *function,
    const etx_graph *graph, const etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_status status;

    ETX_CHECK(etx_check_given(
        function, ETX_GIVEN(graph), ETX_GIVEN(context), ETX_END));
    etx_options_preset(used, &etx_label_options_type);
    ETX_CHECK(
        etx_options_accept(used, function, options, &etx_label_options_type));
    ETX_CHECK(check_event(function, graph, event, used));
    ETX_CHECK(etx_check_scored(function, graph));
done:
    return status;
}

/* What sorts polls the callback of the thread. */
static etx_status label(int32_t *labels, etx_context *context,
    const etx_graph *graph, const etx_event *event,
    const etx_label_options *options)
{
    const struct etx_cancel cancel = etx_cancel_enter(context);
    const etx_status status =
        etx_stage_label(labels, context, graph, event, options);

    (void)etx_cancel_replace(cancel);
    return status;
}

etx_status etx_graph_label(int32_t *labels, const etx_graph *graph,
    etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_label_options used;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(check_call(&used, __func__, graph, context, event, options));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(labels, graph->n_nodes, int32_t)));
    ETX_CHECK(label(labels, context, graph, event, &used));
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_graph_tracks(etx_tracks **out, const etx_graph *graph,
    etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_label_options used;
    struct etx_arena *arena = NULL;
    struct etx_arena_mark mark;
    int32_t *labels = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(check_call(&used, __func__, graph, context, event, options));
    arena = etx_host_of(context)->stream->arena;
    mark = etx_arena_mark(arena);
    ETX_SCRATCH(labels, arena, graph->n_nodes, "labels");
    ETX_CHECK(label(labels, context, graph, event, &used));
    ETX_CHECK(etx_tracks_group(out, graph->n_nodes, labels, 1));
done:
    if (arena != NULL)
        etx_arena_reset(arena, mark);
    return etx_call_end(&host, etx_call_settle(context, status));
}
