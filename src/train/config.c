/* train/config.c -- the training config, read strictly from JSON.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config.h"

#include "arch/options.h"
#include "base/check.h"
#include "base/nearest.h"
#include "io/config.h"
#include "train/config_sections.h"

#include <string.h>

#define COUNT(table) ((int32_t)(sizeof(table) / sizeof(table)[0]))

#define STAGE_NAME(constant, name, objective, scores_edges)   #name,
#define SCORES_EDGES(constant, name, objective, scores_edges) scores_edges,

static const char *const stage_names[ETX_N_TRAIN_STAGES + 1] = {
    ETX_TRAIN_STAGES(STAGE_NAME) NULL};
static const int32_t scores_edges[ETX_N_TRAIN_STAGES] = {
    ETX_TRAIN_STAGES(SCORES_EDGES)};

static const char *const top_keys[] = {"stage", "seed", "model", "label",
    "schedule", "optimiser", "truth", "sampling", "loss", "augmentation",
    "validation", "stability", "memory", "arithmetic", "loss_scaling"};

static etx_status check_keys(const struct etx_json *json)
{
    for (const struct etx_json *value = etx_json_first(json); value != NULL;
         value = value->next) {
        struct etx_nearest nearest = etx_nearest_of(value->key);

        for (int32_t k = 0; k < COUNT(top_keys); k++)
            etx_nearest_add(&nearest, top_keys[k]);
        if (strcmp(value->key, nearest.name) != 0)
            return etx_fail(ETX_ERR_FORMAT,
                "training config: unknown key \"%s\" (nearest: \"%s\")",
                value->key, nearest.name);
    }
    return ETX_OK;
}

static etx_status read_top(
    struct etx_train_config *config, const struct etx_json *json)
{
    const struct etx_json *stage = etx_json_get(json, "stage");
    const struct etx_json *seed = etx_json_get(json, "seed");
    const char *name = etx_json_text(stage);
    char names[128];
    int32_t s = 0;

    if (name == NULL)
        return etx_fail(
            ETX_ERR_FORMAT, "training config: \"stage\" is not a string");
    while (stage_names[s] != NULL && strcmp(stage_names[s], name) != 0)
        s++;
    if (stage_names[s] == NULL) {
        etx_options_list(names, sizeof names, stage_names);
        return etx_fail(ETX_ERR_FORMAT,
            "training config: stage \"%s\" is none of %s", name, names);
    }
    config->stage = s;
    if (seed == NULL)
        return ETX_OK;
    if (!etx_json_is(seed, ETX_JSON_INTEGER) || etx_json_integer(seed) < 0 ||
        etx_json_integer(seed) > 2147483647)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: \"seed\" is not an integer in 0 .. 2147483647");
    config->seed = (int32_t)etx_json_integer(seed);
    return ETX_OK;
}

const char *etx_train_stage_name(int32_t stage)
{
    return stage_names[stage];
}

int32_t etx_train_scores_edges(const struct etx_train_config *config)
{
    return scores_edges[config->stage];
}

etx_status etx_train_config_read(
    struct etx_train_config *config, const char *text)
{
    struct etx_train_config read = {.json = NULL};
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_parse(&read.json, "training config", text, strlen(text),
        ETX_CONFIG_MAX_DEPTH));
    if (!etx_json_is(read.json, ETX_JSON_OBJECT))
        ETX_FAIL(ETX_ERR_FORMAT, "training config: not an object");
    ETX_CHECK(check_keys(read.json));
    ETX_CHECK(read_top(&read, read.json));
    ETX_CHECK(etx_train_config_read_sections(&read, read.json));
    *config = read;
    read.json = NULL;
done:
    etx_json_free(read.json);
    return status;
}

void etx_train_config_clear(struct etx_train_config *config)
{
    etx_json_free(config->json);
    memset(config, 0, sizeof *config);
}
