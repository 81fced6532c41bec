/* train/trainer.c -- a model in training: events, optimiser, steps.
 *
 * Everything random in a step is drawn from a Philox stream named by seed,
 * stage and step: a checkpoint needs no state of a generator, and a step is
 * the same wherever it runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "base/memory.h"
#include "io/model_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------- making -- */

static double now(void)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* FNV-1a, 64 bits: Fowler, Noll, Vo. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t k = 0; k < size; k++)
        hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
    return hash;
}

static etx_status hash_json(uint64_t *hash, const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

    if (text == NULL)
        return etx_fail(ETX_ERR_MEMORY, "no memory to hash a config");
    *hash = hash_bytes(*hash, text, strlen(text));
    free(text);
    return ETX_OK;
}

static struct etx_model_stage *find_stage(
    struct etx_model *model, int32_t stage)
{
    if (stage == ETX_TRAIN_EMBEDDING)
        return &model->embedding;
    return stage == ETX_TRAIN_FILTER ? &model->filter : &model->gnn;
}

/* The same for a model that may not change. */
static const struct etx_network *find_network(
    const struct etx_model *model, int32_t stage)
{
    if (stage == ETX_TRAIN_EMBEDDING)
        return model->embedding.network;
    return stage == ETX_TRAIN_FILTER ? model->filter.network
                                     : model->gnn.network;
}

/* etx.config of the model to train: the start's, with the stage (and label)
 * that the training config describes in its place. */
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
    if ((described != NULL && json_object_set(made, stage, described) != 0) ||
        (label != NULL && json_object_set(made, "label", label) != 0)) {
        json_decref(made);
        return etx_fail(ETX_ERR_MEMORY, "no memory for a model's config");
    }
    *out = made;
    return ETX_OK;
}

static void copy_values(
    struct etx_model *to, const struct etx_model *from, int32_t stage)
{
    struct etx_network *target = find_stage(to, stage)->network;
    const struct etx_network *source = find_network(from, stage);

    if (target != NULL && source != NULL)
        memcpy(target->value, source->value,
            (size_t)source->n_values * sizeof *source->value);
}

/* The model to train: weights of the start where it has them, initial values
 * where the config describes the stage anew. */
static etx_status make_model(
    struct etx_trainer *trainer, const struct etx_model *start)
{
    const struct etx_train_config *config = &trainer->config;
    const int is_new = json_object_get(config->json, "model") != NULL;
    etx_status status;

    ETX_CHECK(make_model_config(&trainer->model_config, config, start));
    ETX_CHECK(
        etx_model_from_config(&trainer->model, trainer->model_config));
    trainer->stage = find_stage(trainer->model, config->stage);
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES && start != NULL; s++)
        if (s != config->stage || !is_new)
            copy_values(trainer->model, start, s);
    if (is_new)
        etx_network_init(trainer->stage->network, (uint64_t)config->seed);
    if (config->stage != ETX_TRAIN_EMBEDDING &&
        trainer->model->embedding.network == NULL)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "training of %s needs a start model with an embedding",
            etx_train_stage_name(config->stage));
done:
    return status;
}

static int is_augmented(const struct etx_trainer *trainer)
{
    const struct etx_train_augmentation *augmentation =
        &trainer->config.augmentation;

    return augmentation->rotate_phi || augmentation->reflect_z ||
           augmentation->reflect_y;
}

/* Features that name a direction do not move along with the hits. */
static etx_status check_augmentation(const struct etx_trainer *trainer)
{
    static const char *const fixed[] = {
        "leta", "lphi", "lx", "ly", "lz", "geta", "gphi"};
    const struct etx_feature_list *list = &trainer->stage->node_features;

    if (!is_augmented(trainer))
        return ETX_OK;
    for (int32_t k = 0; k < list->n_features; k++)
        for (size_t f = 0; f < sizeof fixed / sizeof fixed[0]; f++)
            if (list->feature[k].id == etx_hit_feature_find(fixed[f]))
                return etx_fail(ETX_ERR_FORMAT,
                    "training config: augmentation does not move node "
                    "feature \"%s\": switch rotate_phi, reflect_z and "
                    "reflect_y off",
                    fixed[f]);
    return ETX_OK;
}

static etx_status hash_trainer(struct etx_trainer *trainer)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    etx_status status;

    ETX_CHECK(hash_json(&hash, trainer->config.json));
    ETX_CHECK(hash_json(&hash, trainer->model_config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++) {
        const struct etx_network *network = find_network(trainer->model, s);

        if (network != NULL)
            hash = hash_bytes(hash, network->value,
                (size_t)network->n_values * sizeof *network->value);
    }
    trainer->hash = hash;
done:
    return status;
}

static etx_status take_moments(struct etx_trainer *trainer)
{
    const int64_t n = trainer->stage->network->n_values;
    etx_status status;

    ETX_CHECK(etx_alloc(
        &trainer->gradient, n, sizeof *trainer->gradient, "gradient"));
    ETX_CHECK(etx_alloc(&trainer->m, n, sizeof *trainer->m, "moments"));
    ETX_CHECK(etx_alloc(&trainer->v, n, sizeof *trainer->v, "moments"));
    if (trainer->config.optimiser.amsgrad)
        ETX_CHECK(etx_alloc(
            &trainer->v_max, n, sizeof *trainer->v_max, "moments"));
done:
    return status;
}

etx_status etx_trainer_open(struct etx_trainer **out,
    struct etx_context *context, const char *config,
    const struct etx_model *start)
{
    struct etx_trainer *trainer = NULL;
    etx_status status;

    if (context->options.device != ETX_DEVICE_CPU)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "training runs on the CPU; the context is on device %d",
            (int)context->options.device);
    ETX_CHECK(etx_alloc(&trainer, 1, sizeof *trainer, "trainer"));
    trainer->context = context;
    trainer->result.step = -1;
    trainer->start = now();
    ETX_CHECK(etx_train_config_read(&trainer->config, config));
    ETX_CHECK(make_model(trainer, start));
    ETX_CHECK(check_augmentation(trainer));
    ETX_CHECK(hash_trainer(trainer));
    ETX_CHECK(take_moments(trainer));
    *out = trainer;
    trainer = NULL;
done:
    etx_trainer_close(trainer);
    return status;
}

static void clear_events(struct etx_train_events *events)
{
    for (int64_t i = 0; i < events->n; i++)
        etx_train_event_free(events->event[i]);
    etx_release(events->event);
}

void etx_trainer_close(struct etx_trainer *trainer)
{
    if (trainer == NULL)
        return;
    clear_events(&trainer->training);
    clear_events(&trainer->validation);
    etx_release(trainer->gradient);
    etx_release(trainer->m);
    etx_release(trainer->v);
    etx_release(trainer->v_max);
    etx_model_free(trainer->model);
    json_decref(trainer->model_config);
    etx_train_config_clear(&trainer->config);
    etx_release(trainer);
}

etx_status etx_trainer_take_event(struct etx_trainer *trainer,
    const struct etx_event *event, int32_t validation)
{
    struct etx_train_events *events =
        validation ? &trainer->validation : &trainer->training;
    struct etx_train_event *made = NULL;
    etx_status status;

    if (event->n_hits == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "an event to train on has no hits");
    if (event->n_features > 0 && is_augmented(trainer))
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event brings its own %d features, which augmentation does "
            "not move: switch rotate_phi, reflect_z and reflect_y off",
            (int)event->n_features);
    ETX_CHECK(etx_train_event_create(
        &made, event, trainer->config.truth.min_pt));
    if (events->n == events->capacity) {
        const int64_t capacity = 2 * events->capacity + 16;

        ETX_CHECK(etx_resize(&events->event, events->capacity, capacity,
            sizeof(*events->event), "training events"));
        events->capacity = capacity;
    }
    events->event[events->n++] = made;
    events->n_hits += event->n_hits;
    made = NULL;
done:
    etx_train_event_free(made);
    return status;
}

/* -------------------------------------------------------------- steps -- */

/* Every hit has the same chance, so that steps on wedges see full and small
 * events in the proportion of their hits. */
static struct etx_train_event *draw_event(
    const struct etx_train_events *events, struct etx_random *random)
{
    int64_t hit =
        (int64_t)etx_random_below(random, (uint64_t)events->n_hits);
    int64_t i = 0;

    while (hit >= events->event[i]->event->n_hits)
        hit -= events->event[i++]->event->n_hits;
    return events->event[i];
}

static void clear_report(
    const struct etx_trainer *trainer, etx_training_report *report)
{
    const double nothing = (double)NAN;

    *report = (etx_training_report){.struct_size = sizeof *report,
        .step = trainer->step,
        .n_steps = trainer->config.schedule.n_steps,
        .loss = nothing,
        .learning_rate = nothing,
        .gradient_norm = nothing,
        .weight_norm = nothing,
        .n_edges = nothing,
        .efficiency = nothing,
        .purity = nothing,
        .auc = nothing,
        .threshold = nothing,
        .seconds = now() - trainer->start};
}

static etx_status check_step(const struct etx_trainer *trainer)
{
    if (trainer->step >= trainer->config.schedule.n_steps)
        return etx_fail(ETX_ERR_ARGUMENT,
            "step %lld is beyond the schedule's %d",
            (long long)trainer->step + 1,
            (int)trainer->config.schedule.n_steps);
    if (trainer->training.n == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the trainer has no events to train on");
    return ETX_OK;
}

etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report)
{
    const struct etx_train_config *config = &trainer->config;
    const struct etx_network *network = trainer->stage->network;
    struct etx_arena *arena = trainer->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t step = trainer->step + 1;
    const float learning_rate =
        etx_train_learning_rate(&config->schedule, step);
    struct etx_random random;
    struct etx_train_event *event;
    double gradient_norm;
    etx_status status;

    clear_report(trainer, report);
    ETX_CHECK(check_step(trainer));
    etx_random_init(&random, (uint64_t)config->seed, (uint32_t)step,
        (uint32_t)config->stage + 1);
    event = draw_event(&trainer->training, &random);
    memset(trainer->gradient, 0,
        (size_t)network->n_values * sizeof *trainer->gradient);
    if (config->stage == ETX_TRAIN_EMBEDDING)
        ETX_CHECK(etx_train_embedding(trainer, event, &random, report));
    else
        ETX_CHECK(etx_train_edges(trainer, event, &random, report));
    ETX_CHECK(
        etx_train_update(trainer, step, learning_rate, &gradient_norm));
    trainer->step = step;
    report->step = step;
    report->learning_rate = (double)learning_rate;
    report->gradient_norm = gradient_norm;
    report->weight_norm = etx_train_norm(network->n_values, network->value);
    report->seconds = now() - trainer->start;
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report)
{
    etx_status status;

    clear_report(trainer, report);
    status = etx_train_validate(trainer, report);
    report->weight_norm = etx_train_norm(
        trainer->stage->network->n_values, trainer->stage->network->value);
    report->seconds = now() - trainer->start;
    return status;
}

/* ------------------------------------------------------------- export -- */

/* A number, or null where there is none. */
static json_t *make_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* What this training was, for etx.config. */
static json_t *make_provenance(const struct etx_trainer *trainer)
{
    const struct etx_train_result *result = &trainer->result;
    char *config = json_dumps(trainer->config.json, JSON_COMPACT);
    json_t *made = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "config",
        config == NULL ? "" : config, "steps", (json_int_t)trainer->step,
        "training_events", (json_int_t)trainer->training.n, "training_hits",
        (json_int_t)trainer->training.n_hits, "validation_events",
        (json_int_t)trainer->validation.n, "validated_at_step",
        (json_int_t)result->step);

    free(config);
    if (made == NULL || result->step < 0)
        return made;
    if (json_object_set_new(made, "loss", make_number(result->loss)) != 0 ||
        json_object_set_new(
            made, "n_edges", make_number(result->n_edges)) != 0 ||
        json_object_set_new(
            made, "efficiency", make_number(result->efficiency)) != 0 ||
        json_object_set_new(made, "purity", make_number(result->purity)) !=
            0 ||
        json_object_set_new(made, "auc", make_number(result->auc)) != 0) {
        json_decref(made);
        return NULL;
    }
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

static int set_thresholds(json_t *config, const struct etx_model *model)
{
    json_t *embedding = json_object_get(config, "embedding");
    int failed = 0;

    if (embedding != NULL && json_object_get(embedding, "graph") == NULL)
        failed |= json_object_set_new(embedding, "graph", json_object());
    failed |= set_number(embedding, "graph", "radius", model->radius);
    failed |= set_number(config, "filter", "cut", model->filter_cut);
    if (json_object_get(config, "label") == NULL && model->label.cut != 0.5f)
        failed |= json_object_set_new(
            config, "label", json_pack("{s:s}", "method", "components"));
    if (json_object_get(config, "label") == NULL)
        return failed;
    failed |= set_number(config, "label", "cut", model->label.cut);
    return failed;
}

static etx_status make_export_config(
    json_t **out, const struct etx_trainer *trainer)
{
    const char *stage = etx_train_stage_name(trainer->config.stage);
    json_t *made = json_deep_copy(trainer->model_config);
    json_t *training = json_object_get(made, "training");
    int failed = made == NULL;

    if (!failed && training == NULL) {
        training = json_object();
        failed = json_object_set_new(made, "training", training);
    }
    failed = failed ||
             json_object_set_new(training, stage, make_provenance(trainer)) ||
             set_thresholds(made, trainer->model);
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

    ETX_CHECK(make_export_config(&config, trainer));
    ETX_CHECK(etx_model_from_config(&model, config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        copy_values(model, trainer->model, s);
    *out = model;
done:
    json_decref(config);
    return status;
}
