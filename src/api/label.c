/* api/label.c -- labels and tracks of a scored graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"

#include "base/check.h"
#include "base/options.h"
#include "base/status.h"
#include "stage/stage.h"
#include "stage/track_building/track_building.h"

#include <inttypes.h>
#include <math.h>

static etx_status check_options(
    const char *function, const etx_label_options *options)
{
    const struct etx_range ranges[] = {
        {"min_hits", options->min_hits, 1, INT32_MAX},
        {"support_hits", options->support_hits, 1, INT32_MAX},
    };
    const struct etx_real_range reals[] = {
        {"cut", options->cut, -INFINITY, INFINITY},
        {"sure_cut", options->sure_cut, -INFINITY, INFINITY},
        {"strong_cut", options->strong_cut, -INFINITY, INFINITY},
        {"max_curvature_change", options->max_curvature_change, 0.0f, INFINITY},
        {"max_polar_change", options->max_polar_change, 0.0f, INFINITY},
    };
    etx_status status;

    ETX_CHECK(etx_check_reals(function, reals, sizeof reals / sizeof *reals));
    ETX_CHECK(
        etx_check_ranges(function, ranges, sizeof ranges / sizeof *ranges));
done:
    return status;
}

/* The caller's options over the defaults, checked; the stage checks the method.
 */
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
    if (event != NULL)
        return etx_check_hits(function, graph->n_nodes, event);
    if (etx_label_method_needs_positions(options->method))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: event is NULL and label method %d needs its positions",
            function, options->method);
    return ETX_OK;
}

/* All arguments but the output; copies the options to *known. */
static etx_status check_call(etx_label_options *known, const char *function,
    const etx_graph *graph, const etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_status status;

    ETX_CHECK(etx_check_given(
        function, ETX_GIVEN(graph), ETX_GIVEN(context), ETX_END));
    ETX_CHECK(read_options(known, function, options));
    ETX_CHECK(check_event(function, graph, event, known));
    ETX_CHECK(etx_check_scored(function, graph));
done:
    return status;
}

etx_status etx_graph_label(int32_t *labels, const etx_graph *graph,
    etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_label_options known;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(check_call(&known, __func__, graph, context, event, options));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(labels, graph->n_nodes, int32_t)));
    ETX_CHECK(etx_stage_label(labels, context, graph, event, &known));
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_graph_tracks(etx_tracks **out, const etx_graph *graph,
    etx_context *context, const etx_event *event,
    const etx_label_options *options)
{
    etx_label_options known;
    struct etx_arena *arena = NULL;
    struct etx_arena_mark mark;
    int32_t *labels = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(check_call(&known, __func__, graph, context, event, options));
    arena = etx_host_of(context)->stream->arena;
    mark = etx_arena_mark(arena);
    ETX_SCRATCH(labels, arena, graph->n_nodes, "labels");
    ETX_CHECK(etx_stage_label(labels, context, graph, event, &known));
    ETX_CHECK(etx_tracks_group(out, graph->n_nodes, labels, 1));
done:
    if (arena != NULL)
        etx_arena_reset(arena, mark);
    return etx_call_end(&host, etx_call_settle(context, status));
}
