/* train/module_map/model.c -- a model whose edges come from a module map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/module_map/model.h"

#include "base/json.h"
#include "train/module_map/learn.h"
#include "train/training_model.h"

/* All is in the tensors. */
static etx_status set_options(struct etx_json *config, const void *options)
{
    struct etx_json *object = NULL;

    (void)options;
    return etx_json_set_object(&object, config, "module_map");
}

static etx_status learn(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    etx_table_free(model->module_map);
    model->module_map = NULL;
    return etx_module_map_learn(&model->module_map, events, n_events, options);
}

etx_status etx_module_map_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_module_map_options *options)
{
    static const struct etx_learned_table table = {
        "module_map", set_options, learn};

    return etx_train_learn_table(out, &table, model, events, n_events, options);
}
