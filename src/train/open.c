/* train/open.c -- a model in training: what it is made from.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/model_file.h"
#include "train/graphs/disk_cache.h"
#include "train/hash.h"

#include <assert.h>
#include <string.h>

static struct etx_model_stage *find_stage(
    struct etx_model *model, int32_t stage)
{
    struct etx_model_stage *const stages[ETX_N_TRAIN_STAGES] = {
        [ETX_TRAIN_EMBEDDING] = &model->embedding,
        [ETX_TRAIN_FILTER] = &model->filter,
        [ETX_TRAIN_GNN] = &model->gnn,
        [ETX_TRAIN_CASCADE] = &model->cascade};

    return stages[stage];
}

/* The same for a model that may not change. */
static const struct etx_network *find_network(
    const struct etx_model *model, int32_t stage)
{
    const struct etx_network *const networks[ETX_N_TRAIN_STAGES] = {
        [ETX_TRAIN_EMBEDDING] = model->embedding.network,
        [ETX_TRAIN_FILTER] = model->filter.network,
        [ETX_TRAIN_GNN] = model->gnn.network,
        [ETX_TRAIN_CASCADE] = model->cascade.network};

    return networks[stage];
}

/* etx.config of the model to train: the start's, with the stage (and label)
 * that the training config describes in its place. A cascade has learnt from
 * its filter and goes with it. */
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

void etx_train_copy_stage(
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
    ETX_CHECK(etx_model_from_config(&trainer->model, trainer->model_config));
    trainer->stage = find_stage(trainer->model, config->stage);
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES && start != NULL; s++)
        if (s != config->stage || !is_new)
            etx_train_copy_stage(trainer->model, start, s);
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
           augmentation->reflect_y || augmentation->reflect_x;
}

/* Features that name a direction do not move along with the hits; the extents
 * of a cluster are lengths on its module, which are the same in a mirror. */
static etx_status check_augmentation(const struct etx_trainer *trainer)
{
    static const char *const fixed[] = {"leta", "lphi", "geta", "gphi"};
    const struct etx_feature_list *list = &trainer->stage->node_features;

    if (!is_augmented(trainer))
        return ETX_OK;
    for (int32_t k = 0; k < list->n_features; k++)
        for (size_t f = 0; f < sizeof fixed / sizeof fixed[0]; f++)
            if (list->feature[k].id == etx_hit_feature_find(fixed[f]))
                return etx_fail(ETX_ERR_FORMAT,
                    "training config: augmentation does not move node "
                    "feature \"%s\": switch rotate_phi, reflect_z, "
                    "reflect_y and reflect_x off",
                    fixed[f]);
    return ETX_OK;
}

/* Chunks leave the gradient as it is where the edges of a pass do not know of
 * each other: not with messages between them, nor with a batch norm. */
static etx_status check_chunks(const struct etx_trainer *trainer)
{
    const json_t *filter = json_object_get(trainer->model_config, "filter");
    const char *arch = json_string_value(json_object_get(filter, "arch"));
    const char *norm = json_string_value(
        json_object_get(json_object_get(filter, "options"), "norm"));

    if (trainer->config.sampling.chunk_edges == 0)
        return ETX_OK;
    if (arch != NULL && strcmp(arch, "edge_filter") != 0)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: sampling.chunk_edges %d with a filter of arch "
            "\"%s\": only those of an edge_filter are independent",
            (int)trainer->config.sampling.chunk_edges, arch);
    if (norm != NULL && strcmp(norm, "batch") == 0)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: sampling.chunk_edges %d with a filter of norm "
            "\"batch\": edges of one pass are not independent",
            (int)trainer->config.sampling.chunk_edges);
    return ETX_OK;
}

/* A filter and its cascade are trained on a choice of the edges, in which the
 * cells of the Hough space hold fewer of them than in the whole graph. */
static etx_status check_votes(const struct etx_trainer *trainer)
{
    const struct etx_network *network = trainer->stage->network;

    if (trainer->config.stage != ETX_TRAIN_GNN &&
        etx_network_needs(network, ETX_EDGE_LOG_HOUGH_VOTES))
        return etx_fail(ETX_ERR_FORMAT,
            "training config: a filter cannot be trained with the edge "
            "feature \"log_hough_votes\": it sees a choice of the edges, of "
            "which votes would be too few");
    return ETX_OK;
}

/* A switch that a network does not read would say that it is on. */
static etx_status check_memory(const struct etx_trainer *trainer)
{
    const struct etx_train_memory *memory = &trainer->config.memory;
    const struct etx_arch *arch = trainer->stage->network->arch;
    const int32_t is_on =
        memory->checkpointing || memory->precision != ETX_MEMORY_FLOAT32;

    if (is_on && !arch->saves_memory)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: memory.checkpointing and memory.precision are "
            "of networks that keep latents of edges, \"%s\" does not",
            arch->name);
    return ETX_OK;
}

/* A loss of what the network does not say would be none. */
static etx_status check_pt(const struct etx_trainer *trainer)
{
    if (trainer->config.loss.pt_weight > 0.0f &&
        !trainer->stage->network->has_pt_head)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: loss.pt_weight %g with a network without "
            "momentum head: an interaction_network with the option "
            "\"pt_layers\" has one",
            (double)trainer->config.loss.pt_weight);
    return ETX_OK;
}

static etx_status hash_trainer(struct etx_trainer *trainer)
{
    uint64_t hash = ETX_HASH_START;
    etx_status status;

    ETX_CHECK(etx_hash_json(&hash, trainer->config.json));
    ETX_CHECK(etx_hash_json(&hash, trainer->model_config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++) {
        const struct etx_network *network = find_network(trainer->model, s);

        if (network != NULL)
            hash = etx_hash_bytes(hash, network->value,
                (size_t)network->n_values * sizeof *network->value);
    }
    trainer->hash = hash;
done:
    return status;
}

/* Whether stage s of the model is one that makes the graphs of a stage. */
static int makes_graphs(const struct etx_model *model, int32_t s, int32_t stage)
{
    if (s == ETX_TRAIN_CASCADE)
        return stage == ETX_TRAIN_GNN && model->cascade.network != NULL;
    return stage == ETX_TRAIN_CASCADE ? s < ETX_TRAIN_GNN : s < stage;
}

/* Of the stages before the one in training, which make its graphs. */
static etx_status hash_stages_before(
    uint64_t *out, const struct etx_trainer *trainer)
{
    uint64_t hash = ETX_HASH_START;
    etx_status status = ETX_OK;

    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++) {
        const struct etx_network *network = find_network(trainer->model, s);

        if (!makes_graphs(trainer->model, s, trainer->config.stage))
            continue;
        ETX_CHECK(etx_hash_json(&hash,
            json_object_get(trainer->model_config, etx_train_stage_name(s))));
        if (network != NULL)
            hash = etx_hash_bytes(hash, network->value,
                (size_t)network->n_values * sizeof *network->value);
    }
    *out = etx_hash_bytes(
        hash, &trainer->config.stage, sizeof trainer->config.stage);
done:
    return status;
}

etx_status etx_trainer_open_cache(
    struct etx_trainer *trainer, const char *folder)
{
    struct etx_train_cache *cache = NULL;
    uint64_t made_from;
    etx_status status;

    ETX_CHECK(hash_stages_before(&made_from, trainer));
    ETX_CHECK(etx_train_cache_open(
        &cache, folder, made_from, trainer->config.sampling.n_graphs));
    etx_train_cache_close(trainer->cache);
    trainer->cache = cache;
done:
    return status;
}

/* Points of an embedding are float32 in any case (docs/cuda.md). */
static etx_status check_products(const struct etx_trainer *trainer)
{
    if (trainer->config.arithmetic.products == ETX_PRODUCTS_FLOAT32)
        return ETX_OK;
    if (trainer->context->stream->memory == NULL)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "training config: arithmetic.products \"fp16\" is of trainings on "
            "a device");
    if (trainer->config.stage == ETX_TRAIN_EMBEDDING)
        return etx_fail(ETX_ERR_FORMAT,
            "training config: arithmetic.products \"fp16\" is of networks "
            "that score edges, not of the stage embedding");
    return ETX_OK;
}

static etx_status check_device(const struct etx_trainer *trainer)
{
    const struct etx_arch *arch = trainer->stage->network->arch;

    if (trainer->context->stream->memory != NULL && arch->is_host_only)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "%s: this network runs on the CPU only", arch->name);
    return ETX_OK;
}

/* Moments of the host, and all of the state where the context computes. */
static etx_status take_state(struct etx_trainer *trainer)
{
    const int64_t n = trainer->stage->network->n_values;
    etx_status status;

    ETX_CHECK(etx_alloc(&trainer->m, n, sizeof *trainer->m, "moments"));
    ETX_CHECK(etx_alloc(&trainer->v, n, sizeof *trainer->v, "moments"));
    if (trainer->config.optimiser.amsgrad)
        ETX_CHECK(
            etx_alloc(&trainer->v_max, n, sizeof *trainer->v_max, "moments"));
    if (trainer->config.validation.keep_best)
        ETX_CHECK(etx_alloc(&trainer->best.parameter, n,
            sizeof *trainer->best.parameter, "best parameters"));
    ETX_CHECK(etx_train_snapshot_open(trainer));
    ETX_CHECK(etx_train_state_open(trainer));
    etx_train_loss_scale_open(trainer);
done:
    return status;
}

etx_status etx_trainer_open(struct etx_trainer **out,
    struct etx_context *context, const char *config,
    const struct etx_model *start)
{
    struct etx_trainer *trainer = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&trainer, 1, sizeof *trainer, "trainer"));
    trainer->context = context;
    trainer->team =
        (etx_team){.struct_size = sizeof trainer->team, .n_ranks = 1};
    trainer->result.step = -1;
    trainer->best.result.step = -1;
    trainer->snapshot.step = -1;
    trainer->start = etx_train_now();
    ETX_CHECK(etx_train_config_read(&trainer->config, config));
    ETX_CHECK(make_model(trainer, start));
    ETX_CHECK(check_device(trainer));
    ETX_CHECK(check_products(trainer));
    ETX_CHECK(check_augmentation(trainer));
    ETX_CHECK(check_chunks(trainer));
    ETX_CHECK(check_votes(trainer));
    ETX_CHECK(check_memory(trainer));
    ETX_CHECK(check_pt(trainer));
    ETX_CHECK(hash_trainer(trainer));
    ETX_CHECK(take_state(trainer));
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
    etx_free(events->event);
}

void etx_trainer_close(struct etx_trainer *trainer)
{
    if (trainer == NULL)
        return;
    etx_train_cache_close(trainer->cache);
    clear_events(&trainer->training);
    clear_events(&trainer->validation);
    etx_train_state_close(trainer);
    etx_free(trainer->m);
    etx_free(trainer->v);
    etx_free(trainer->v_max);
    etx_free(trainer->best.parameter);
    etx_train_snapshot_close(trainer);
    etx_model_free(trainer->model);
    json_decref(trainer->model_config);
    etx_train_config_clear(&trainer->config);
    etx_free(trainer);
}

/* What this rank derives from an event; one of n_hits hits that another rank
 * has when event is NULL. */
static etx_status make_event(struct etx_train_event **out,
    const struct etx_trainer *trainer, const struct etx_event *event,
    int64_t n_hits)
{
    if (event == NULL && n_hits > 0)
        return etx_train_event_absent(out, n_hits);
    if (event == NULL || event->n_hits == 0)
        return etx_fail(ETX_ERR_ARGUMENT, "an event to train on has no hits");
    if (event->n_hits != n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event has %lld hits, not the %lld that the ranks agreed on",
            (long long)event->n_hits, (long long)n_hits);
    if (event->n_features > 0 && is_augmented(trainer))
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event brings its own %d features, which augmentation does "
            "not move: switch rotate_phi, reflect_z, reflect_y and "
            "reflect_x off",
            (int)event->n_features);
    return etx_train_event_create(out, event, &trainer->config);
}

etx_status etx_trainer_take_event(struct etx_trainer *trainer,
    const struct etx_event *event, int64_t n_hits, int32_t rank,
    int32_t validation)
{
    struct etx_train_events *events =
        validation ? &trainer->validation : &trainer->training;
    struct etx_train_event *made = NULL;
    etx_status status;

    ETX_CHECK(make_event(&made, trainer, event, n_hits));
    assert(made != NULL);
    made->holder = rank;
    if (events->n == events->capacity) {
        const int64_t capacity = 2 * events->capacity + 16;

        ETX_CHECK(etx_resize(&events->event, events->capacity, capacity,
            sizeof(*events->event), "training events"));
        events->capacity = capacity;
    }
    events->event[events->n++] = made;
    events->n_hits += n_hits;
    made = NULL;
done:
    etx_train_event_free(made);
    return status;
}
