/* train/config.c -- the training config, read strictly from JSON.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config.h"

#include "base/check.h"
#include "train/config_sections.h"

#include <string.h>

#define COUNT(table) ((int32_t)(sizeof(table) / sizeof(table)[0]))

static const char *const stage_names[] = {
    "embedding", "filter", "gnn", "cascade", NULL};

static const char *const top_keys[] = {"stage", "seed", "model", "label",
    "schedule", "optimiser", "truth", "sampling", "loss", "augmentation",
    "validation", "stability", "memory", "arithmetic", "loss_scaling"};

static etx_status check_keys(const json_t *json)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)json, key, value)
    {
        int32_t k = 0;

        while (k < COUNT(top_keys) && strcmp(key, top_keys[k]) != 0)
            k++;
        if (k == COUNT(top_keys))
            return etx_fail(
                ETX_ERR_FORMAT, "training config: unknown key \"%s\"", key);
    }
    return ETX_OK;
}

static etx_status read_top(struct etx_train_config *config, const json_t *json)
{
    const json_t *stage = json_object_get(json, "stage");
    const json_t *seed = json_object_get(json, "seed");
    const char *name = json_string_value(stage);
    int32_t s = 0;

    if (name == NULL)
        return etx_fail(
            ETX_ERR_FORMAT, "training config: \"stage\" is not a string");
    while (stage_names[s] != NULL && strcmp(stage_names[s], name) != 0)
        s++;
    if (stage_names[s] == NULL)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: stage \"%s\" is not embedding, filter, gnn or "
            "cascade",
            name);
    config->stage = s;
    if (seed == NULL)
        return ETX_OK;
    if (!json_is_integer(seed) || json_integer_value(seed) < 0 ||
        json_integer_value(seed) > 2147483647)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: \"seed\" is not an integer in 0 .. 2147483647");
    config->seed = (int32_t)json_integer_value(seed);
    return ETX_OK;
}

const char *etx_train_stage_name(int32_t stage)
{
    return stage_names[stage];
}

etx_status etx_train_config_read(
    struct etx_train_config *config, const char *text)
{
    struct etx_train_config read = {.json = NULL};
    json_error_t error;
    etx_status status = ETX_OK;

    read.json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(read.json)) {
        status = etx_fail(ETX_ERR_FORMAT,
            "training config, line %d: not a JSON object: %s",
            read.json == NULL ? error.line : 1,
            read.json == NULL ? error.text : "another type");
        goto done;
    }
    ETX_CHECK(check_keys(read.json));
    ETX_CHECK(read_top(&read, read.json));
    ETX_CHECK(etx_train_config_read_sections(&read, read.json));
    *config = read;
    read.json = NULL;
done:
    json_decref(read.json);
    return status;
}

void etx_train_config_clear(struct etx_train_config *config)
{
    json_decref(config->json);
    memset(config, 0, sizeof *config);
}
