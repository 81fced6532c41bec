/* train/completion/model.c -- a model that completes its tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/completion/model.h"

#include "base/check.h"
#include "base/status.h"
#include "io/model_file.h"
#include "train/completion/learn.h"
#include "train/config.h"
#include "train/training_model.h"

/* etx.config of model with the options, and from how much they were learned. */
static etx_status make_config(json_t **out, const struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const etx_completion_options *options)
{
    json_t *config = json_loads(model->config, 0, NULL);
    json_t *training = json_object_get(config, "training");
    int64_t n_hits = 0;
    int failed = config == NULL;

    for (int64_t e = 0; e < n_events; e++)
        n_hits += events[e]->n_hits;
    if (!failed && training == NULL) {
        training = json_object();
        failed = json_object_set_new(config, "training", training);
    }
    failed =
        failed ||
        json_object_set_new(config, "completion",
            json_pack("{s:f, s:f, s:f}", "max_distance",
                (double)options->max_distance, "max_join",
                (double)options->max_join, "max_random",
                (double)options->max_random)) ||
        json_object_set_new(training, "completion",
            json_pack("{s:I, s:I}", "training_events", (json_int_t)n_events,
                "training_hits", (json_int_t)n_hits));
    if (failed) {
        json_decref(config);
        return etx_fail(ETX_ERR_MEMORY, "no memory for a model's config");
    }
    *out = config;
    return ETX_OK;
}

etx_status etx_completion_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_completion_options *options)
{
    struct etx_model *made = NULL;
    json_t *config = NULL;
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
    json_decref(config);
    etx_model_free(made);
    return status;
}
