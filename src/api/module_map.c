/* api/module_map.c -- edges by a module map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/module_map.h"
#include "api/arguments.h"
#include "base/check.h"
#include "learn/learn_table.h"
#include "stage/options.h"
#include "stage/stage.h"

etx_status etx_model_learn_module_map(etx_model **out, const etx_model *model,
    const etx_event *const *events, int64_t n_events,
    const etx_module_map_options *options)
{
    etx_module_map_options used;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(model),
        ETX_GIVEN(events), ETX_END));
    ETX_CHECK(etx_check_events(__func__, events, n_events));
    etx_options_preset(&used, &etx_module_map_options_type);
    ETX_CHECK(etx_options_accept(
        &used, __func__, options, &etx_module_map_options_type));
    ETX_CHECK(etx_learn_table(
        out, &etx_learned_module_map, model, events, n_events, &used));
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
