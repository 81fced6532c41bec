/* train/training_model.c -- the model that a trainer works on.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/training_model.h"

#include "base/check.h"
#include "io/model_file.h"
#include "train/hash.h"

#include <string.h>

const struct etx_network *etx_train_find_network(
    const struct etx_model *model, int32_t stage)
{
    const struct etx_network *const networks[ETX_N_TRAIN_STAGES] = {
        [ETX_TRAIN_EMBEDDING] = model->embedding.network,
        [ETX_TRAIN_FILTER] = model->filter.network,
        [ETX_TRAIN_GNN] = model->gnn.network,
        [ETX_TRAIN_CASCADE] = model->cascade.network};

    return networks[stage];
}

struct etx_model_stage *etx_train_find_stage(
    struct etx_model *model, int32_t stage)
{
    struct etx_model_stage *const stages[ETX_N_TRAIN_STAGES] = {
        [ETX_TRAIN_EMBEDDING] = &model->embedding,
        [ETX_TRAIN_FILTER] = &model->filter,
        [ETX_TRAIN_GNN] = &model->gnn,
        [ETX_TRAIN_CASCADE] = &model->cascade};

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

etx_status etx_train_copy_completion(
    struct etx_model *to, const struct etx_model *from)
{
    if (!to->has_completion || from->completion == NULL)
        return ETX_OK;
    return etx_completion_copy(&to->completion, from->completion);
}

uint64_t etx_train_hash_network(
    uint64_t hash, const struct etx_network *network)
{
    return network == NULL
               ? hash
               : etx_hash_bytes(hash, network->value,
                     (size_t)network->n_values * sizeof *network->value);
}

/* etx.config of the model to train: the start's, its stage (and label) replaced
 * by those of the training config. A cascade was trained on its filter and is
 * dropped with it. */
static etx_status make_model_config(json_t **out,
    const struct etx_train_config *config, const struct etx_model *start)
{
    const char *stage = etx_train_stage_name(config->stage);
    json_t *described = json_object_get(config->json, "model");
    json_t *label = json_object_get(config->json, "label");
    json_t *made = start != NULL ? json_loads(start->config, 0, NULL)
                                 : json_pack("{s:i}", "schema", 1);

    if (made == NULL)
        return etx_fail(ETX_ERR_MEMORY, "no memory for a model's config");
    if (described == NULL && json_object_get(made, stage) == NULL) {
        json_decref(made);
        return etx_fail(ETX_ERR_FORMAT,
            "training config: no \"model\", and no start model with a stage "
            "\"%s\"",
            stage);
    }
    if (config->stage < ETX_TRAIN_GNN)
        (void)json_object_del(made, "cascade");
    if ((described != NULL && json_object_set(made, stage, described) != 0) ||
        (label != NULL && json_object_set(made, "label", label) != 0)) {
        json_decref(made);
        return etx_fail(ETX_ERR_MEMORY, "no memory for a model's config");
    }
    *out = made;
    return ETX_OK;
}

etx_status etx_train_model_open(struct etx_model **model, json_t **model_config,
    const struct etx_train_config *config, const struct etx_model *start)
{
    const int is_new = json_object_get(config->json, "model") != NULL;
    etx_status status;

    ETX_CHECK(make_model_config(model_config, config, start));
    ETX_CHECK(etx_model_from_config(model, *model_config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES && start != NULL; s++)
        if (s != config->stage || !is_new)
            etx_train_copy_stage(*model, start, s);
    if (start != NULL)
        ETX_CHECK(etx_train_copy_completion(*model, start));
    if (is_new)
        etx_network_init(etx_train_find_stage(*model, config->stage)->network,
            (uint64_t)config->seed);
    if (config->stage != ETX_TRAIN_EMBEDDING &&
        (*model)->embedding.network == NULL)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "training of %s needs a start model with an embedding",
            etx_train_stage_name(config->stage));
done:
    return status;
}
