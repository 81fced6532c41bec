/* train/completion/model.c -- a model that completes its tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/completion/model.h"

#include "base/check.h"
#include "base/json.h"
#include "io/config.h"
#include "io/model_file.h"
#include "train/completion/learn.h"
#include "train/config.h"
#include "train/training_model.h"

#include <string.h>

/* etx.config of model with the options, and from how much they were learned. */
static etx_status make_config(struct etx_json **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_completion_options *options)
{
    struct etx_json *config = NULL;
    struct etx_json *completion = NULL;
    etx_status status;

    ETX_CHECK(etx_json_parse(&config, "etx.config", model->config,
        strlen(model->config), ETX_CONFIG_MAX_DEPTH));
    ETX_CHECK(etx_json_set_object(&completion, config, "completion"));
    ETX_CHECK(etx_json_set_number(
        completion, "max_distance", (double)options->max_distance));
    ETX_CHECK(
        etx_json_set_number(completion, "max_join", (double)options->max_join));
    ETX_CHECK(etx_json_set_number(
        completion, "max_random", (double)options->max_random));
    ETX_CHECK(etx_train_note_events(config, "completion", events, n_events));
    /* It has the layers of another completion. */
    etx_json_remove(config, "first_pass");
    *out = config;
    config = NULL;
done:
    etx_json_free(config);
    return status;
}

etx_status etx_completion_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_completion_options *options)
{
    struct etx_model *made = NULL;
    struct etx_json *config = NULL;
    etx_status status;

    ETX_CHECK(make_config(&config, model, events, n_events, options));
    ETX_CHECK(etx_model_from_config(&made, config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        etx_train_copy_stage(made, model, s);
    ETX_CHECK(etx_completion_learn(&made->completion, events, n_events));
    etx_model_freeze(made);
    *out = made;
    made = NULL;
done:
    etx_json_free(config);
    etx_model_free(made);
    return status;
}
