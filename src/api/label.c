/* api/label.c -- labels and tracks of a scored graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"

#include "base/check.h"
#include "base/float_environment.h"
#include "base/options.h"
#include "base/status.h"
#include "stage/stage.h"
#include "stage/track_building/track_building.h"

#include <inttypes.h>
#include <stdalign.h>

static etx_status check_cut(const char *function, const char *name, float value)
{
    if (value != value)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s is nan", function, name);
    return ETX_OK;
}

static etx_status check_hits(
    const char *function, const char *name, int32_t value)
{
    if (value < 1)
        return etx_fail(
            ETX_ERR_ARGUMENT, "%s: %s %d is below 1", function, name, value);
    return ETX_OK;
}

static etx_status check_limit(
    const char *function, const char *name, float value)
{
    if (!(value >= 0.0f))
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s %g is not at least 0",
            function, name, (double)value);
    return ETX_OK;
}

static etx_status check_options(
    const char *function, const etx_label_options *options)
{
    etx_status status;

    ETX_CHECK(check_cut(function, "cut", options->cut));
    ETX_CHECK(check_hits(function, "min_hits", options->min_hits));
    ETX_CHECK(check_cut(function, "sure_cut", options->sure_cut));
    ETX_CHECK(check_cut(function, "strong_cut", options->strong_cut));
    ETX_CHECK(check_hits(function, "support_hits", options->support_hits));
    ETX_CHECK(check_limit(
        function, "max_curvature_change", options->max_curvature_change));
    ETX_CHECK(
        check_limit(function, "max_polar_change", options->max_polar_change));
done:
    return status;
}

/* options of the caller, or the defaults; checked but for the method, which
 * the stage knows. */
static etx_status read_options(etx_label_options *out, const char *function,
    const etx_label_options *options)
{
    etx_status status;

    ETX_CHECK(etx_label_options_init(out, sizeof *out));
    if (options != NULL)
        ETX_CHECK(etx_options_copy(out, sizeof *out, options,
            options->struct_size, ETX_LABEL_FIRST_SIZE, "etx_label_options"));
    ETX_CHECK(check_options(function, out));
done:
    return status;
}

static etx_status check_event(const char *function, const etx_graph *graph,
    const etx_event *event, const etx_label_options *options)
{
    if (event == NULL && (options->method == ETX_LABEL_WALKTHROUGH ||
                             options->method == ETX_LABEL_BEST_FIRST))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: event is NULL and label method %d needs its positions",
            function, options->method);
    if (event != NULL && event->n_hits != graph->n_nodes)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the graph has %" PRId64 " nodes and the event %" PRId64
            " hits",
            function, graph->n_nodes, event->n_hits);
    return ETX_OK;
}

/* Everything but the output; fills known. */
static etx_status check_call(etx_label_options *known, const char *function,
    const etx_graph *graph, const etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_status status;

    ETX_CHECK(etx_check_given(function, "graph", graph));
    ETX_CHECK(etx_check_given(function, "context", context));
    ETX_CHECK(read_options(known, function, options));
    ETX_CHECK(check_event(function, graph, event, known));
    if (graph->score == NULL && graph->n_edges > 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "%s: the graph is not scored: its %" PRId64 " edges have no scores",
            function, graph->n_edges);
done:
    return status;
}

static etx_status label(int32_t *labels, struct etx_context *context,
    const struct etx_graph *graph, const struct etx_event *event,
    const etx_label_options *options)
{
    etx_status status;
    const float *position = event == NULL ? NULL : event->position;
    const struct etx_graph *here = NULL;
    struct etx_graph *copy = NULL;

    ETX_CHECK(etx_stage_enter(&here, &copy, context, graph));
    ETX_CHECK(etx_build_tracks(labels, context, here, position, options));
done:
    etx_graph_free(copy);
    return status;
}

etx_status etx_graph_label(int32_t *labels, const etx_graph *graph,
    etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_label_options known;
    struct etx_stage_clock clock;
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(check_call(&known, __func__, graph, context, event, options));
    ETX_CHECK(etx_check_array(
        __func__, "labels", labels, graph->n_nodes, alignof(int32_t)));
    clock = etx_stage_begin(context, ETX_STAGE_LABEL);
    ETX_CHECK(label(labels, context, graph, event, &known));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_graph_tracks(etx_tracks **out, const etx_graph *graph,
    etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_label_options known;
    struct etx_stage_clock clock;
    struct etx_arena *arena;
    struct etx_arena_mark mark;
    int32_t *labels = NULL;
    etx_status status;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(check_call(&known, __func__, graph, context, event, options));
    arena = etx_host_of(context)->stream->arena;
    mark = etx_arena_mark(arena);
    clock = etx_stage_begin(context, ETX_STAGE_LABEL);
    status = etx_arena_alloc(
        &labels, arena, graph->n_nodes, sizeof *labels, "labels");
    if (status == ETX_OK)
        status = label(labels, context, graph, event, &known);
    if (status == ETX_OK)
        status = etx_stage_end(context, &clock, 0);
    if (status == ETX_OK)
        status = etx_tracks_group(out, graph->n_nodes, labels, 1);
    etx_arena_reset(arena, mark);
done:
    etx_float_environment_leave(&host);
    return status;
}
