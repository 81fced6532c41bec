/* train/first_pass/model.c -- a model that begins with a first pass.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/first_pass/model.h"

#include "base/check.h"
#include "base/json.h"
#include "io/config.h"
#include "io/model_file.h"
#include "train/config.h"
#include "train/first_pass/learn.h"
#include "train/training_model.h"

#include <string.h>

/* etx.config of model with the options, and from how much they were learned. */
static etx_status make_config(struct etx_json **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_first_pass_options *options)
{
    struct etx_json *config = NULL;
    struct etx_json *object = NULL;
    etx_status status;

    ETX_CHECK(etx_json_parse(&config, "etx.config", model->config,
        strlen(model->config), ETX_CONFIG_MAX_DEPTH));
    ETX_CHECK(etx_json_set_object(&object, config, "first_pass"));
    ETX_CHECK(etx_json_set_integer(object, "min_layers", options->min_layers));
    ETX_CHECK(etx_json_set_number(object, "min_pt", (double)options->min_pt));
    ETX_CHECK(etx_json_set_number(
        object, "max_distance", (double)options->max_distance));
    ETX_CHECK(
        etx_json_set_number(object, "max_random", (double)options->max_random));
    ETX_CHECK(
        etx_json_set_number(object, "strong_cut", (double)options->strong_cut));
    ETX_CHECK(etx_json_set_integer(object, "min_hits", options->min_hits));
    ETX_CHECK(etx_train_note_events(config, "first_pass", events, n_events));
    *out = config;
    config = NULL;
done:
    etx_json_free(config);
    return status;
}

etx_status etx_first_pass_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_first_pass_options *options)
{
    struct etx_model *made = NULL;
    struct etx_json *config = NULL;
    etx_status status;

    ETX_CHECK(make_config(&config, model, events, n_events, options));
    ETX_CHECK(etx_model_from_config(&made, config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        etx_train_copy_stage(made, model, s);
    ETX_CHECK(etx_completion_copy(&made->completion, model->completion));
    ETX_CHECK(etx_first_pass_learn(
        &made->first_pass, made->completion, events, n_events));
    etx_model_freeze(made);
    *out = made;
    made = NULL;
done:
    etx_json_free(config);
    etx_model_free(made);
    return status;
}
