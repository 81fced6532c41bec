/* train/completion/model.c -- a model that completes its tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/completion/model.h"

#include "base/check.h"
#include "base/json.h"
#include "train/completion/learn.h"
#include "train/training_model.h"

static etx_status set_options(struct etx_json *config, const void *options)
{
    const etx_completion_options *known = options;
    struct etx_json *object = NULL;
    etx_status status;

    ETX_CHECK(etx_json_set_object(&object, config, "completion"));
    ETX_CHECK(etx_json_set_number(
        object, "max_distance", (double)known->max_distance));
    ETX_CHECK(etx_json_set_number(object, "max_join", (double)known->max_join));
    ETX_CHECK(
        etx_json_set_number(object, "max_random", (double)known->max_random));
    /* It has the layers of another completion. */
    etx_json_remove(config, "first_pass");
done:
    return status;
}

static etx_status learn(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    (void)options;
    etx_table_free(model->completion);
    model->completion = NULL;
    return etx_completion_learn(&model->completion, events, n_events);
}

etx_status etx_completion_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_completion_options *options)
{
    static const struct etx_learned_table table = {
        "completion", set_options, learn};

    return etx_train_learn_table(out, &table, model, events, n_events, options);
}
