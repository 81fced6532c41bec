/* api/module_map.c -- edges by a module map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/module_map.h"
#include "api/arguments.h"
#include "base/check.h"
#include "base/options.h"
#include "learn/learn_table.h"
#include "stage/stage.h"

#include <math.h>

#define FIRST_SIZE ETX_SIZE_UP_TO(etx_module_map_options, margin)

etx_status etx_module_map_options_init(
    etx_module_map_options *options, size_t struct_size)
{
    return etx_options_init(options, struct_size, &etx_module_map_defaults,
        sizeof etx_module_map_defaults, FIRST_SIZE, "etx_module_map_options");
}

/* *out: the caller's options over the defaults. */
static etx_status read_options(etx_module_map_options *out,
    const char *function, const etx_module_map_options *options)
{
    etx_status status = ETX_OK;

    *out = etx_module_map_defaults;
    if (options != NULL)
        ETX_CHECK(etx_options_copy(out, sizeof *out, options,
            options->struct_size, FIRST_SIZE, "etx_module_map_options"));
    const struct etx_range ranges[] = {
        {"units", out->units, ETX_MAP_MODULES, ETX_MAP_LAYERS},
        {"use_triplets", out->use_triplets, 0, 1},
    };
    const struct etx_real_range reals[] = {
        {"min_pt", out->min_pt, 0.0f, INFINITY},
        {"tail", out->tail, 0.0f, 0.499f},
        {"margin", out->margin, 0.0f, 1000.0f},
    };
    ETX_CHECK(
        etx_check_ranges(function, ranges, sizeof ranges / sizeof *ranges));
    ETX_CHECK(etx_check_reals(function, reals, sizeof reals / sizeof *reals));
done:
    return status;
}

etx_status etx_model_learn_module_map(etx_model **out, const etx_model *model,
    const etx_event *const *events, int64_t n_events,
    const etx_module_map_options *options)
{
    etx_module_map_options known;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(model),
        ETX_GIVEN(events), ETX_END));
    ETX_CHECK(etx_check_events(__func__, events, n_events));
    ETX_CHECK(read_options(&known, __func__, options));
    ETX_CHECK(etx_learn_table(
        out, &etx_learned_module_map, model, events, n_events, &known));
done:
    return etx_call_end(&host, status);
}

etx_status etx_graph_build_module_map(etx_graph **out, etx_context *context,
    const etx_model *model, const etx_event *event, int64_t max_edges)
{
    const struct etx_range range = {"max_edges", max_edges, 0, INT32_MAX};
    struct etx_graph *graph = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_ranges(__func__, &range, 1));
    ETX_CHECK(etx_check_learned(__func__, model->module_map, "module map",
        "etx_model_learn_module_map"));
    etx_stage_reset_timings(context);
    ETX_CHECK(etx_stage_build_map(&graph, context, model, event, max_edges));
    ETX_CHECK(etx_stage_graph_to_caller(&graph, context));
    *out = graph;
done:
    return etx_call_end(&host, status);
}
