/* train/config.c -- what to train and how, read strictly from JSON.
 *
 * One table of options a section; the sections sampling and loss have one a
 * stage, so that a key which the stage would not read is refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/config.h"

#include "arch/options.h"
#include "base/check.h"
#include "op/op.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COUNT(table) ((int32_t)(sizeof(table) / sizeof(table)[0]))
#define LARGEST_INT 2147483647.0

static const char *const stage_names[] = {"embedding", "filter", "gnn", NULL};
static const char *const decay_names[] = {"constant", "cosine", "step", NULL};
static const char *const same_particle_names[] = {
    "ignore", "true", "false", NULL};
static const char *const hinge_names[] = {"squared", "distance", NULL};

static const char *const top_keys[] = {"stage", "seed", "model", "label",
    "schedule", "optimiser", "truth", "sampling", "loss", "augmentation",
    "validation"};

static struct etx_option int_option(
    const char *key, int32_t *value, double low, double high)
{
    return (struct etx_option){.key = key,
        .kind = ETX_OPTION_INT,
        .value = value,
        .low = low,
        .high = high};
}

static struct etx_option float_option(
    const char *key, float *value, double low, double high)
{
    return (struct etx_option){.key = key,
        .kind = ETX_OPTION_FLOAT,
        .value = value,
        .low = low,
        .high = high};
}

static struct etx_option bool_option(const char *key, int32_t *value)
{
    return (struct etx_option){
        .key = key, .kind = ETX_OPTION_BOOL, .value = value};
}

static struct etx_option choice_option(
    const char *key, int32_t *value, const char *const *choices)
{
    return (struct etx_option){.key = key,
        .kind = ETX_OPTION_CHOICE,
        .value = value,
        .choices = choices};
}

static void set_defaults(struct etx_train_config *config)
{
    config->schedule = (struct etx_train_schedule){.n_steps = 1000,
        .n_warmup_steps = 100,
        .learning_rate = 0.002f,
        .min_learning_rate = 1e-5f,
        .decay = ETX_DECAY_COSINE,
        .decay_every = 1000,
        .decay_factor = 0.5f};
    config->optimiser = (struct etx_train_optimiser){.beta1 = 0.9f,
        .beta2 = 0.999f,
        .eps = 1e-8f,
        .weight_decay = 0.01f,
        .gradient_clip = 1.0f};
    config->truth = (struct etx_train_truth){.min_pt = 0.5f,
        .low_pt_weight = 0.5f,
        .same_particle = ETX_SAME_PARTICLE_IGNORE};
    config->sampling = (struct etx_train_sampling){.n_hits = 7000,
        .eta_window = 1.0f,
        .n_edges = 30000,
        .false_per_true = 4.0f,
        .n_queries = 1000,
        .search_radius = 1.0f,
        .n_neighbours = 40,
        .n_other = 40,
        .n_random = 10000,
        .cache_mib = 4096};
    config->loss = (struct etx_train_loss){
        .positive_weight = config->stage == ETX_TRAIN_EMBEDDING ? 4.0f : 1.0f,
        .hinge = ETX_HINGE_DISTANCE,
        .margin = 1.0f};
    config->augmentation = (struct etx_train_augmentation){
        .rotate_phi = 1, .reflect_z = 1, .reflect_y = 1};
    config->target_efficiency = 0.0f;
}

static etx_status read_schedule(
    struct etx_train_schedule *schedule, const json_t *json)
{
    const struct etx_option options[] = {
        int_option("steps", &schedule->n_steps, 1.0, LARGEST_INT),
        int_option(
            "warmup_steps", &schedule->n_warmup_steps, 0.0, LARGEST_INT),
        float_option("learning_rate", &schedule->learning_rate, 0.0, 1e3),
        float_option(
            "min_learning_rate", &schedule->min_learning_rate, 0.0, 1e3),
        choice_option("decay", &schedule->decay, decay_names),
        int_option("decay_every", &schedule->decay_every, 1.0, LARGEST_INT),
        float_option("decay_factor", &schedule->decay_factor, 0.0, 1.0)};

    return etx_options_read("schedule", json, options, COUNT(options));
}

static etx_status read_optimiser(
    struct etx_train_optimiser *optimiser, const json_t *json)
{
    const struct etx_option options[] = {
        float_option("beta1", &optimiser->beta1, 0.0, 0.999999),
        float_option("beta2", &optimiser->beta2, 0.0, 0.999999),
        float_option("eps", &optimiser->eps, 1e-30, 1.0),
        float_option("weight_decay", &optimiser->weight_decay, 0.0, 1e3),
        float_option("gradient_clip", &optimiser->gradient_clip, 0.0, 1e30),
        bool_option("amsgrad", &optimiser->amsgrad)};

    return etx_options_read("optimiser", json, options, COUNT(options));
}

static etx_status read_truth(struct etx_train_truth *truth, const json_t *json)
{
    const struct etx_option options[] = {
        float_option("min_pt", &truth->min_pt, 0.0, 1e6),
        float_option("low_pt_weight", &truth->low_pt_weight, 0.0, 1e3),
        choice_option(
            "same_particle", &truth->same_particle, same_particle_names)};

    return etx_options_read("truth", json, options, COUNT(options));
}

static etx_status read_sampling(struct etx_train_sampling *sampling,
    const json_t *json, int32_t stage)
{
    const struct etx_option hits =
        int_option("hits", &sampling->n_hits, 0.0, LARGEST_INT);
    const struct etx_option eta =
        float_option("eta_window", &sampling->eta_window, 0.001, 1.0);
    const struct etx_option edges =
        int_option("edges", &sampling->n_edges, 0.0, LARGEST_INT);
    const struct etx_option cache =
        int_option("cache_mib", &sampling->cache_mib, 0.0, 1e8);
    const struct etx_option embedding[] = {hits, eta,
        int_option("queries", &sampling->n_queries, 1.0, 1e6),
        int_option("neighbours", &sampling->n_neighbours, 0.0, 1e6),
        int_option("other", &sampling->n_other, 0.0, 1e6),
        float_option("search_radius", &sampling->search_radius, 1e-9, 1e9),
        int_option("random_pairs", &sampling->n_random, 0.0, LARGEST_INT)};
    const struct etx_option filter[] = {hits, eta, edges, cache,
        float_option("false_per_true", &sampling->false_per_true, 0.0, 1e6)};
    const struct etx_option gnn[] = {hits, eta, edges, cache};

    if (stage == ETX_TRAIN_EMBEDDING)
        return etx_options_read("sampling", json, embedding, COUNT(embedding));
    if (stage == ETX_TRAIN_FILTER)
        return etx_options_read("sampling", json, filter, COUNT(filter));
    return etx_options_read("sampling", json, gnn, COUNT(gnn));
}

static etx_status read_loss(
    struct etx_train_loss *loss, const json_t *json, int32_t stage)
{
    const struct etx_option positive =
        float_option("positive_weight", &loss->positive_weight, 0.0, 1e6);
    const struct etx_option contrastive[] = {positive,
        choice_option("hinge", &loss->hinge, hinge_names),
        float_option("margin", &loss->margin, 1e-6, 1e6)};

    return etx_options_read("loss", json,
        stage == ETX_TRAIN_EMBEDDING ? contrastive : &positive,
        stage == ETX_TRAIN_EMBEDDING ? COUNT(contrastive) : 1);
}

static etx_status read_augmentation(
    struct etx_train_augmentation *augmentation, const json_t *json)
{
    const struct etx_option options[] = {
        bool_option("rotate_phi", &augmentation->rotate_phi),
        bool_option("reflect_z", &augmentation->reflect_z),
        bool_option("reflect_y", &augmentation->reflect_y)};

    return etx_options_read("augmentation", json, options, COUNT(options));
}

static etx_status read_validation(
    struct etx_train_config *config, const json_t *json)
{
    const struct etx_option option = float_option(
        "target_efficiency", &config->target_efficiency, 0.0, 1.0);

    return etx_options_read("validation", json, &option, 1);
}

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
            return etx_fail(ETX_ERR_FORMAT,
                "training config: unknown key \"%s\"", key);
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
        return etx_fail(ETX_ERR_FORMAT,
            "training config: \"stage\" is not a string");
    while (stage_names[s] != NULL && strcmp(stage_names[s], name) != 0)
        s++;
    if (stage_names[s] == NULL)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: stage \"%s\" is not embedding, filter or gnn",
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

static etx_status read_sections(
    struct etx_train_config *config, const json_t *json)
{
    etx_status status;

    ETX_CHECK(read_schedule(
        &config->schedule, json_object_get(json, "schedule")));
    ETX_CHECK(read_optimiser(
        &config->optimiser, json_object_get(json, "optimiser")));
    ETX_CHECK(read_truth(&config->truth, json_object_get(json, "truth")));
    ETX_CHECK(read_sampling(&config->sampling,
        json_object_get(json, "sampling"), config->stage));
    ETX_CHECK(read_loss(
        &config->loss, json_object_get(json, "loss"), config->stage));
    ETX_CHECK(read_augmentation(
        &config->augmentation, json_object_get(json, "augmentation")));
    ETX_CHECK(read_validation(config, json_object_get(json, "validation")));
done:
    return status;
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
    set_defaults(&read);
    ETX_CHECK(read_sections(&read, read.json));
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

static double decayed(const struct etx_train_schedule *schedule, int64_t step)
{
    const double pi = 3.14159265358979323846;
    const double highest = (double)schedule->learning_rate;
    const double lowest = (double)schedule->min_learning_rate;
    const int64_t after = step - 1 - schedule->n_warmup_steps;
    const int64_t n_after = schedule->n_steps - schedule->n_warmup_steps;

    switch ((enum etx_decay)schedule->decay) {
    case ETX_DECAY_CONSTANT:
        break;
    case ETX_DECAY_COSINE:
        return lowest + (highest - lowest) * 0.5 *
                            (1.0 + cos(pi * (double)after / (double)n_after));
    case ETX_DECAY_STEP:
        return fmax(lowest,
            highest * pow((double)schedule->decay_factor,
                          (double)(after / schedule->decay_every)));
    }
    return highest;
}

float etx_train_learning_rate(
    const struct etx_train_schedule *schedule, int64_t step)
{
    if (step <= schedule->n_warmup_steps)
        return (float)((double)schedule->learning_rate * (double)step /
                       (double)schedule->n_warmup_steps);
    return (float)decayed(schedule, step);
}
