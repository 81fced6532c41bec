/* train/export.c -- the model that a training made, with its provenance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/export.h"

#include "base/check.h"
#include "io/model_file.h"
#include "train/hash.h"
#include "train/training_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number, or null where there is none. */
static json_t *make_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Whether the exported model is the one of the best validation. */
static int is_best(const struct etx_trainer *trainer)
{
    return trainer->config.validation.keep_best &&
           trainer->best.result.step >= 0;
}

/* The record of this training in etx.config. */
static json_t *make_provenance(const struct etx_trainer *trainer)
{
    const struct etx_train_result *result =
        is_best(trainer) ? &trainer->best.result : &trainer->result;
    char *config = json_dumps(trainer->config.json, JSON_COMPACT);
    json_t *made = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "config",
        config == NULL ? "" : config, "steps",
        (json_int_t)trainer->progress.step, "training_events",
        (json_int_t)trainer->training.n, "training_hits",
        (json_int_t)trainer->training.n_hits, "validation_events",
        (json_int_t)trainer->validation.n, "validated_at_step",
        (json_int_t)result->step);
    json_t *metrics;

    free(config);
    if (made == NULL || result->step < 0)
        return made;
    metrics = json_pack("{s:o, s:o, s:o, s:o, s:o}", "loss",
        make_number(result->loss), "n_edges", make_number(result->n_edges),
        "efficiency", make_number(result->efficiency), "purity",
        make_number(result->purity), "auc", make_number(result->auc));
    if (json_object_update(made, metrics) != 0) {
        json_decref(made);
        made = NULL;
    }
    json_decref(metrics);
    return made;
}

/* Set object[section][key] where the section exists; 0 or -1. */
static int set_number(
    json_t *object, const char *section, const char *key, float value)
{
    json_t *part = json_object_get(object, section);

    return part == NULL
               ? 0
               : json_object_set_new(part, key, json_real((double)value));
}

static int set_thresholds(
    json_t *config, const struct etx_train_thresholds *thresholds)
{
    json_t *embedding = json_object_get(config, "embedding");
    int failed = 0;

    if (embedding != NULL && json_object_get(embedding, "graph") == NULL)
        failed |= json_object_set_new(embedding, "graph", json_object());
    failed |= set_number(embedding, "graph", "radius", thresholds->radius);
    failed |= set_number(config, "filter", "cut", thresholds->filter_cut);
    failed |= set_number(config, "cascade", "cut", thresholds->cascade_cut);
    failed |= set_number(config, "cascade", "kept", thresholds->cascade_kept);
    if (json_object_get(config, "label") == NULL &&
        thresholds->label_cut != 0.5f)
        failed |= json_object_set_new(
            config, "label", json_pack("{s:s}", "method", "components"));
    if (json_object_get(config, "label") == NULL)
        return failed;
    failed |= set_number(config, "label", "cut", thresholds->label_cut);
    return failed;
}

static etx_status make_export_config(
    json_t **out, const struct etx_trainer *trainer)
{
    const char *stage = etx_train_stage_name(trainer->config.stage);
    const struct etx_train_thresholds thresholds =
        is_best(trainer) ? trainer->best.thresholds
                         : etx_train_get_thresholds(trainer->model);
    json_t *made = json_deep_copy(trainer->model_config);
    json_t *training = json_object_get(made, "training");
    int failed = made == NULL;

    if (!failed && training == NULL) {
        training = json_object();
        failed = json_object_set_new(made, "training", training);
    }
    failed = failed ||
             json_object_set_new(training, stage, make_provenance(trainer)) ||
             set_thresholds(made, &thresholds);
    if (failed) {
        json_decref(made);
        return etx_fail(ETX_ERR_MEMORY, "no memory for a model's config");
    }
    *out = made;
    return ETX_OK;
}

etx_status etx_trainer_export(
    struct etx_model **out, const struct etx_trainer *trainer)
{
    json_t *config = NULL;
    struct etx_model *model = NULL;
    etx_status status;

    ETX_CHECK(etx_train_state_to_host(&trainer->state));
    ETX_CHECK(make_export_config(&config, trainer));
    ETX_CHECK(etx_model_from_config(&model, config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        etx_train_copy_stage(model, trainer->model, s);
    ETX_CHECK(etx_train_copy_completion(model, trainer->model));
    if (is_best(trainer))
        memcpy(
            etx_train_find_stage(model, trainer->config.stage)->network->value,
            trainer->best.parameter,
            (size_t)trainer->stage->network->n_values * sizeof(float));
    etx_model_freeze(model);
    *out = model;
    model = NULL;
done:
    etx_model_free(model);
    json_decref(config);
    return status;
}

static uint64_t hash_array(
    uint64_t hash, const struct etx_trainer *trainer, const float *array)
{
    if (array == NULL)
        return hash;
    return etx_hash_bytes(
        hash, array, (size_t)trainer->stage->network->n_values * sizeof *array);
}

uint64_t etx_trainer_hash_state(const struct etx_trainer *trainer)
{
    const struct etx_train_thresholds thresholds =
        etx_train_get_thresholds(trainer->model);
    uint64_t hash = etx_hash_bytes(
        ETX_HASH_START, &trainer->progress.step, sizeof trainer->progress.step);

    if (etx_train_state_to_host(&trainer->state) != ETX_OK)
        return 0;
    hash = hash_array(hash, trainer, trainer->stage->network->value);
    hash = hash_array(hash, trainer, trainer->state.moments.m);
    hash = hash_array(hash, trainer, trainer->state.moments.v);
    hash = hash_array(hash, trainer, trainer->state.moments.v_max);
    return etx_hash_bytes(hash, &thresholds, sizeof thresholds);
}
