/* train/training_model.c -- the model that a trainer works on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/training_model.h"

#include "base/check.h"
#include "io/config.h"
#include "io/model_file.h"
#include "train/hash.h"

#include <string.h>

#define NETWORK(constant, name, objective, scores_edges) model->name.network,
#define STAGE(constant, name, objective, scores_edges)   &model->name,

const struct etx_network *etx_train_find_network(
    const struct etx_model *model, int32_t stage)
{
    const struct etx_network *const networks[] = {ETX_TRAIN_STAGES(NETWORK)};

    return networks[stage];
}

struct etx_model_stage *etx_train_find_stage(
    struct etx_model *model, int32_t stage)
{
    struct etx_model_stage *const stages[] = {ETX_TRAIN_STAGES(STAGE)};

    return stages[stage];
}

void etx_train_copy_stage(
    struct etx_model *to, const struct etx_model *from, int32_t stage)
{
    struct etx_network *target = etx_train_find_stage(to, stage)->network;
    const struct etx_network *source = etx_train_find_network(from, stage);

    if (target != NULL && source != NULL)
        memcpy(target->value, source->value,
            (size_t)source->n_values * sizeof *source->value);
}

etx_status etx_train_copy_tables(
    struct etx_model *to, const struct etx_model *from)
{
    etx_status status = ETX_OK;

    if (to->has_completion && from->completion != NULL)
        ETX_CHECK(etx_table_copy(&to->completion, from->completion));
    if (to->has_first_pass && from->first_pass != NULL)
        ETX_CHECK(etx_table_copy(&to->first_pass, from->first_pass));
    if (to->has_module_map && from->module_map != NULL)
        ETX_CHECK(etx_table_copy(&to->module_map, from->module_map));
done:
    return status;
}

uint64_t etx_train_hash_network(
    uint64_t hash, const struct etx_network *network)
{
    return network == NULL
               ? hash
               : etx_hash_bytes(hash, network->value,
                     (size_t)network->n_values * sizeof *network->value);
}

uint64_t etx_train_hash_table(uint64_t hash, const void *table)
{
    const struct etx_table_kind *const kind =
        table == NULL ? NULL : etx_table_kind_of(table);

    for (int32_t k = 0; kind != NULL && k < kind->n_arrays; k++) {
        const struct etx_table_array *array = &kind->array[k];

        hash = etx_hash_bytes(hash, etx_table_values(table, array),
            (size_t)(etx_table_n_rows(table, array) * array->n_columns) *
                etx_table_value_size(array));
    }
    return hash;
}

/* etx.config of the model to train: the start's, its stage (and label) replaced
 * by the training config's. */
static etx_status make_model_config(struct etx_json **out,
    const struct etx_train_config *config, const struct etx_model *start)
{
    const char *stage = etx_train_stage_name(config->stage);
    const struct etx_json *described = etx_json_get(config->json, "model");
    const struct etx_json *label = etx_json_get(config->json, "label");
    struct etx_json *made = NULL;
    etx_status status = ETX_OK;

    if (start != NULL) {
        ETX_CHECK(etx_json_parse(&made, "etx.config", start->config,
            strlen(start->config), ETX_CONFIG_MAX_DEPTH));
    } else {
        ETX_CHECK(etx_json_create_object(&made));
        ETX_CHECK(etx_json_set_integer(made, "schema", 1));
    }
    if (described == NULL && etx_json_get(made, stage) == NULL)
        ETX_FAIL(ETX_ERR_FORMAT,
            "training config: no \"model\", and no start model with a stage "
            "\"%s\"",
            stage);
    if (described != NULL)
        ETX_CHECK(etx_json_set_copy(made, stage, described));
    if (config->augmentation.drop_cells > 0.0f)
        ETX_CHECK(
            etx_json_set_text(etx_json_get(made, stage), "cells", "optional"));
    if (label != NULL)
        ETX_CHECK(etx_json_set_copy(made, "label", label));
    *out = made;
    made = NULL;
done:
    etx_json_free(made);
    return status;
}

etx_status etx_train_model_open(struct etx_model **model,
    struct etx_json **model_config, const struct etx_train_config *config,
    const struct etx_model *start)
{
    const int is_new = etx_json_get(config->json, "model") != NULL;
    etx_status status;

    ETX_CHECK(make_model_config(model_config, config, start));
    ETX_CHECK(etx_model_from_config(model, *model_config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES && start != NULL; s++)
        if (s != config->stage || !is_new)
            etx_train_copy_stage(*model, start, s);
    if (start != NULL)
        ETX_CHECK(etx_train_copy_tables(*model, start));
    if (is_new)
        etx_network_init(etx_train_find_stage(*model, config->stage)->network,
            (uint64_t)config->seed);
    if (etx_train_scores_edges(config) && (*model)->embedding.network == NULL &&
        (*model)->module_map == NULL)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "training of %s needs a start model with an embedding or a module "
            "map",
            etx_train_stage_name(config->stage));
done:
    return status;
}
