/* train/export.c -- the model that a training made, with its provenance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/train.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/model_file.h"
#include "train/hash.h"
#include "train/training_model.h"

#include <string.h>

/* Whether the exported model is the one of the best validation. */
static int is_best(const struct etx_trainer *trainer)
{
    return trainer->config.validation.keep_best &&
           trainer->best.result.step >= 0;
}

/* The record of this training in etx.config. */
static etx_status set_provenance(
    struct etx_json *section, const struct etx_trainer *trainer)
{
    const struct etx_train_result *result =
        is_best(trainer) ? &trainer->best.result : &trainer->result;
    const struct {
        const char *key;
        int64_t value;
    } count[] = {{"steps", trainer->progress.step},
        {"training_events", trainer->training.n},
        {"training_hits", trainer->training.n_hits},
        {"validation_events", trainer->validation.n},
        {"validated_at_step", result->step}};
    const struct {
        const char *key;
        double value;
    } metric[] = {{"loss", result->loss}, {"n_edges", result->n_edges},
        {"efficiency", result->efficiency}, {"purity", result->purity},
        {"auc", result->auc}};
    char *config = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(
        etx_json_write(&config, trainer->config.json, ETX_JSON_DIGITS, 0));
    ETX_CHECK(etx_json_set_text(section, "config", config));
    for (size_t k = 0; k < sizeof count / sizeof count[0]; k++)
        ETX_CHECK(etx_json_set_integer(section, count[k].key, count[k].value));
    for (size_t k = 0; k < sizeof metric / sizeof metric[0]; k++)
        if (result->step >= 0)
            ETX_CHECK(
                etx_json_set_number(section, metric[k].key, metric[k].value));
done:
    etx_free(config);
    return status;
}

/* Set object[section][key] where the section exists. */
static etx_status set_number(
    struct etx_json *object, const char *section, const char *key, float value)
{
    struct etx_json *part = etx_json_get(object, section);

    return part == NULL ? ETX_OK
                        : etx_json_set_number(part, key, (double)value);
}

static etx_status set_thresholds(
    struct etx_json *config, const struct etx_train_thresholds *thresholds)
{
    struct etx_json *embedding = etx_json_get(config, "embedding");
    struct etx_json *made = NULL;
    etx_status status = ETX_OK;

    if (embedding != NULL && etx_json_get(embedding, "graph") == NULL)
        ETX_CHECK(etx_json_set_object(&made, embedding, "graph"));
    ETX_CHECK(set_number(embedding, "graph", "radius", thresholds->radius));
    ETX_CHECK(set_number(config, "filter", "cut", thresholds->filter_cut));
    if (etx_json_get(config, "label") == NULL &&
        thresholds->label_cut != 0.5f) {
        ETX_CHECK(etx_json_set_object(&made, config, "label"));
        ETX_CHECK(etx_json_set_text(made, "method", "components"));
    }
    ETX_CHECK(set_number(config, "label", "cut", thresholds->label_cut));
done:
    return status;
}

static etx_status make_export_config(
    struct etx_json **out, const struct etx_trainer *trainer)
{
    const char *stage = etx_train_stage_name(trainer->config.stage);
    const struct etx_train_thresholds thresholds =
        is_best(trainer) ? trainer->best.thresholds
                         : etx_train_get_thresholds(trainer->model);
    struct etx_json *made = NULL;
    struct etx_json *training = NULL;
    struct etx_json *section = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_copy(&made, trainer->model_config));
    ETX_CHECK(etx_json_open_object(&training, made, "training"));
    ETX_CHECK(etx_json_set_object(&section, training, stage));
    ETX_CHECK(set_provenance(section, trainer));
    ETX_CHECK(set_thresholds(made, &thresholds));
    *out = made;
    made = NULL;
done:
    etx_json_free(made);
    return status;
}

etx_status etx_trainer_export(
    struct etx_model **out, const struct etx_trainer *trainer)
{
    struct etx_json *config = NULL;
    struct etx_model *model = NULL;
    etx_status status;

    ETX_CHECK(etx_train_state_to_host(&trainer->state));
    ETX_CHECK(make_export_config(&config, trainer));
    ETX_CHECK(etx_model_from_config(&model, config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        etx_train_copy_stage(model, trainer->model, s);
    ETX_CHECK(etx_train_copy_tables(model, trainer->model));
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
    etx_json_free(config);
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
