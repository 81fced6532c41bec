/* api/module_map.c -- edges by a module map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"
#include "base/check.h"
#include "stage/options.h"
#include "stage/stage.h"

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
