/* train/first_pass/model.c -- a model that begins with a first pass.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/first_pass/model.h"

#include "base/check.h"
#include "base/json.h"
#include "train/first_pass/learn.h"
#include "train/training_model.h"

static etx_status set_options(struct etx_json *config, const void *options)
{
    const etx_first_pass_options *known = options;
    struct etx_json *object = NULL;
    etx_status status;

    ETX_CHECK(etx_json_set_object(&object, config, "first_pass"));
    ETX_CHECK(etx_json_set_integer(object, "min_layers", known->min_layers));
    ETX_CHECK(etx_json_set_number(object, "min_pt", (double)known->min_pt));
    ETX_CHECK(etx_json_set_number(
        object, "max_distance", (double)known->max_distance));
    ETX_CHECK(
        etx_json_set_number(object, "max_random", (double)known->max_random));
    ETX_CHECK(etx_json_set_integer(object, "min_hits", known->min_hits));
done:
    return status;
}

static etx_status learn(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    (void)options;
    etx_table_free(model->first_pass);
    model->first_pass = NULL;
    return etx_first_pass_learn(
        &model->first_pass, model->completion, events, n_events);
}

etx_status etx_first_pass_model(struct etx_model **out,
    const struct etx_model *model, const struct etx_event *const *events,
    int64_t n_events, const etx_first_pass_options *options)
{
    static const struct etx_learned_table table = {
        "first_pass", set_options, learn};

    return etx_train_learn_table(out, &table, model, events, n_events, options);
}
