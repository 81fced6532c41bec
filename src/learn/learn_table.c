/* learn/learn_table.c -- a model with a table that is learned from true tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/learn_table.h"

#include "base/check.h"
#include "base/json.h"
#include "io/config.h"
#include "io/model_file.h"
#include "learn/completion.h"
#include "learn/first_pass.h"
#include "learn/module_map.h"
#include "stage/options.h"
#include "train/training_model.h"

#include <string.h>

/* ------------------------------------------------------------ completion -- */

static etx_status set_completion(struct etx_json *config, const void *options)
{
    struct etx_json *object = NULL;
    etx_status status;

    ETX_CHECK(etx_json_set_object(&object, config, "completion"));
    ETX_CHECK(etx_config_write_options(
        object, options, &etx_completion_options_type));
    /* A first pass has the layers of the completion it was learned with. */
    etx_json_remove(config, "first_pass");
    struct etx_json *training = etx_json_get(config, "training");
    if (etx_json_is(training, ETX_JSON_OBJECT))
        etx_json_remove(training, "first_pass");
done:
    return status;
}

static etx_status learn_completion(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    (void)options;
    etx_table_free(model->completion);
    model->completion = NULL;
    return etx_completion_learn(&model->completion, events, n_events);
}

const struct etx_learned_table etx_learned_completion = {
    "completion", set_completion, learn_completion};

/* ------------------------------------------------------------ first pass -- */

static etx_status set_first_pass(struct etx_json *config, const void *options)
{
    struct etx_json *object = NULL;
    etx_status status;

    ETX_CHECK(etx_json_set_object(&object, config, "first_pass"));
    ETX_CHECK(etx_config_write_options(
        object, options, &etx_first_pass_options_type));
done:
    return status;
}

static etx_status learn_first_pass(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    (void)options;
    etx_table_free(model->first_pass);
    model->first_pass = NULL;
    return etx_first_pass_learn(
        &model->first_pass, model->completion, events, n_events);
}

const struct etx_learned_table etx_learned_first_pass = {
    "first_pass", set_first_pass, learn_first_pass};

/* ------------------------------------------------------------ module map -- */

/* All is in the tensors. */
static etx_status set_module_map(struct etx_json *config, const void *options)
{
    struct etx_json *object = NULL;

    (void)options;
    return etx_json_set_object(&object, config, "module_map");
}

static etx_status learn_module_map(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    etx_table_free(model->module_map);
    model->module_map = NULL;
    return etx_module_map_learn(&model->module_map, events, n_events, options);
}

const struct etx_learned_table etx_learned_module_map = {
    "module_map", set_module_map, learn_module_map};

/* ----------------------------------------------------------------- model -- */

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
    ETX_CHECK(table->set_options(config, options));
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
