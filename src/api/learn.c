/* api/learn.c -- models with a table that is learned from events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include "api/arguments.h"
#include "base/check.h"
#include "learn/learn_table.h"
#include "stage/options.h"

/* options: of the table's type, or NULL. */
static etx_status learn(etx_model **out, const char *function,
    const etx_model *model, const etx_event *const *events, int64_t n_events,
    const struct etx_learned_table *table, const void *options)
{
    union {
        etx_completion_options completion;
        etx_first_pass_options first_pass;
        etx_module_map_options module_map;
    } used;
    etx_status status;

    ETX_CHECK(etx_check_events(function, events, n_events));
    etx_options_preset(&used, table->options);
    ETX_CHECK(etx_options_accept(&used, function, options, table->options));
    ETX_CHECK(etx_learn_table(out, table, model, events, n_events, &used));
done:
    return status;
}

etx_status etx_model_learn_completion(etx_model **out, const etx_model *model,
    int64_t n_events, const etx_event *const *events,
    const etx_completion_options *options)
{
    ETX_FORWARD(learn(out, __func__, model, events, n_events,
                    &etx_learned_completion, options),
        ETX_GIVEN(out), ETX_GIVEN(model), ETX_GIVEN(events));
}

etx_status etx_model_learn_first_pass(etx_model **out, const etx_model *model,
    int64_t n_events, const etx_event *const *events,
    const etx_first_pass_options *options)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(model),
        ETX_GIVEN(events), ETX_END));
    ETX_CHECK(etx_check_learned(__func__, model->completion, "completion",
        "etx_model_learn_completion"));
    ETX_CHECK(learn(out, __func__, model, events, n_events,
        &etx_learned_first_pass, options));
done:
    return etx_call_end(&host, status);
}

etx_status etx_model_learn_module_map(etx_model **out, const etx_model *model,
    int64_t n_events, const etx_event *const *events,
    const etx_module_map_options *options)
{
    ETX_FORWARD(learn(out, __func__, model, events, n_events,
                    &etx_learned_module_map, options),
        ETX_GIVEN(out), ETX_GIVEN(model), ETX_GIVEN(events));
}
