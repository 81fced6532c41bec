/* learn/learn_table.c -- a model with a table that is learned from true tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/learn_table.h"

#include "base/check.h"
#include "base/json.h"
#include "io/config.h"
#include "io/model_file.h"
#include "stage/options.h"
#include "train/training_model.h"

#include <string.h>

/* A first pass has the layers of the completion it was learned with. */
const struct etx_learned_table etx_learned_completion = {
    .name = "completion",
    .outdated = "first_pass",
    .options = &etx_completion_options_type,
    .keeps_options = 1,
    .learn = etx_learn_completion,
};
const struct etx_learned_table etx_learned_first_pass = {
    .name = "first_pass",
    .options = &etx_first_pass_options_type,
    .keeps_options = 1,
    .learn = etx_learn_first_pass,
};
const struct etx_learned_table etx_learned_module_map = {
    .name = "module_map",
    .options = &etx_module_map_options_type,
    .learn = etx_learn_module_map,
};

/* The sections of etx.config. */
static etx_status set_sections(struct etx_json *config,
    const struct etx_learned_table *table, const void *options)
{
    struct etx_json *object = NULL;
    etx_status status;

    ETX_CHECK(etx_json_set_object(&object, config, table->name));
    if (table->keeps_options)
        ETX_CHECK(etx_config_write_options(object, options, table->options));
    if (table->outdated != NULL) {
        struct etx_json *const training = etx_json_get(config, "training");

        etx_json_remove(config, table->outdated);
        if (etx_json_is(training, ETX_JSON_OBJECT))
            etx_json_remove(training, table->outdated);
    }
done:
    return status;
}

/* Note in "training" from how much a table was learned. */
static etx_status note_events(struct etx_json *config, const char *table,
    const struct etx_event *const *events, int64_t n_events)
{
    struct etx_json *training = NULL;
    struct etx_json *learned = NULL;
    int64_t n_hits = 0;
    etx_status status;

    for (int64_t e = 0; e < n_events; e++)
        n_hits += events[e]->n_hits;
    ETX_CHECK(etx_json_open_object(&training, config, "training"));
    ETX_CHECK(etx_json_set_object(&learned, training, table));
    ETX_CHECK(etx_json_set_integer(learned, "training_events", n_events));
    ETX_CHECK(etx_json_set_integer(learned, "training_hits", n_hits));
done:
    return status;
}

etx_status etx_learn_table(struct etx_model **out,
    const struct etx_learned_table *table, const struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    struct etx_model *learned = NULL;
    struct etx_json *config = NULL;
    etx_status status;

    ETX_CHECK(etx_json_parse(&config, "etx.config", model->config,
        strlen(model->config), ETX_CONFIG_MAX_DEPTH));
    ETX_CHECK(set_sections(config, table, options));
    ETX_CHECK(note_events(config, table->name, events, n_events));
    ETX_CHECK(etx_model_from_config(&learned, config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        etx_train_copy_stage(learned, model, s);
    ETX_CHECK(etx_train_copy_tables(learned, model));
    ETX_CHECK(table->learn(learned, events, n_events, options));
    etx_model_freeze(learned);
    *out = learned;
    learned = NULL;
done:
    etx_json_free(config);
    etx_model_free(learned);
    return status;
}
