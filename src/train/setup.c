/* train/setup.c -- create a trainer, set its events and ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/train.h"

#include "arch/halo.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/heap.h"
#include "stage/stage.h"
#include "train/config_check.h"
#include "train/hash.h"
#include "train/objective/objective.h"
#include "train/sampling/augment_event.h"
#include "train/sampling/random_streams.h"
#include "train/training_model.h"
#include "train/transfer.h"

#include <assert.h>

static etx_status hash_trainer(struct etx_trainer *trainer)
{
    uint64_t hash = ETX_HASH_START;
    etx_status status;

    ETX_CHECK(etx_hash_json(&hash, trainer->config.json));
    ETX_CHECK(etx_hash_json(&hash, trainer->model_config));
    for (int32_t s = 0; s < ETX_N_TRAIN_STAGES; s++)
        hash = etx_train_hash_network(
            hash, etx_train_find_network(trainer->model, s));
    hash = etx_train_hash_table(hash, trainer->model->module_map);
    trainer->hash = hash;
done:
    return status;
}

static etx_status open_model(
    struct etx_trainer *trainer, const struct etx_model *start)
{
    const struct etx_train_config *config = &trainer->config;
    etx_status status;

    ETX_CHECK(etx_train_model_open(
        &trainer->model, &trainer->model_config, config, start));
    trainer->stage = etx_train_find_stage(trainer->model, config->stage);
    ETX_CHECK(etx_train_config_check(config, trainer->model_config,
        trainer->stage, trainer->context->backend));
    trainer->objective = etx_objectives[config->stage];
    ETX_CHECK(hash_trainer(trainer));
done:
    return status;
}

static etx_status open_state(struct etx_trainer *trainer)
{
    const struct etx_train_config *config = &trainer->config;
    struct etx_network *network = trainer->stage->network;
    struct etx_train_best *best = &trainer->best;
    etx_status status;

    trainer->progress.loss_scale = etx_loss_scale_start(&config->loss_scaling);
    trainer->snapshot.progress.loss_scale = trainer->progress.loss_scale;
    ETX_CHECK(etx_train_state_open(
        &trainer->state, trainer->context, network, config->optimiser.amsgrad));
    ETX_CHECK(etx_snapshot_open(
        &trainer->snapshot, &trainer->state, &config->stability));
    if (config->validation.keep_best)
        ETX_NEW(best->parameter, network->n_values, "best parameters");
done:
    return status;
}

etx_status etx_trainer_open(struct etx_trainer **out,
    struct etx_context *context, const char *config,
    const struct etx_model *start)
{
    struct etx_trainer *trainer = NULL;
    etx_status status;

    ETX_NEW(trainer, 1, "trainer");
    trainer->context = context;
    trainer->team =
        (etx_team){.struct_size = sizeof trainer->team, .n_ranks = 1};
    trainer->result.step = -1;
    trainer->best.result.step = -1;
    trainer->snapshot.progress.step = -1;
    trainer->start = etx_now();
    ETX_CHECK(etx_train_config_read(&trainer->config, config));
    ETX_CHECK(open_model(trainer, start));
    ETX_CHECK(open_state(trainer));
    trainer->partition.arena = etx_train_host(context)->arena;
    trainer->graphs = (struct etx_event_graphs){.context = context,
        .model = trainer->model,
        .stage = trainer->config.stage,
        .max_bytes = (int64_t)trainer->config.sampling.cache_mib << 20,
        .events = {&trainer->training, &trainer->validation}};
    *out = trainer;
    trainer = NULL;
done:
    etx_trainer_close(trainer);
    return status;
}

void etx_trainer_close(struct etx_trainer *trainer)
{
    if (trainer == NULL)
        return;
    etx_graph_disk_cache_close(trainer->graphs.disk);
    etx_train_events_clear(&trainer->training);
    etx_train_events_clear(&trainer->validation);
    etx_train_state_close(&trainer->state);
    etx_snapshot_close(&trainer->snapshot);
    etx_free(trainer->best.parameter);
    etx_model_free(trainer->model);
    etx_json_free(trainer->model_config);
    etx_train_config_clear(&trainer->config);
    etx_free(trainer);
}

/* --------------------------------------------------------------- events -- */

/* Replace an event by the hits that the first pass leaves to the networks,
 * where the pipeline has one. */
static etx_status drop_first_pass(
    struct etx_event **event, const struct etx_trainer *trainer)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = etx_train_host(context)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n_hits = (*event)->n_hits;
    struct etx_event *rest = NULL;
    int32_t *label = NULL;
    int32_t *row = NULL;
    int32_t n_tracks;
    int64_t n = 0;
    etx_status status = ETX_OK;

    if (!etx_stage_has_first_pass(trainer->model, *event))
        return ETX_OK;
    ETX_SCRATCH(label, arena, n_hits, "labels");
    ETX_SCRATCH(row, arena, n_hits, "hits left");
    ETX_CHECK(etx_stage_first_pass(
        label, &n_tracks, context, trainer->model, *event));
    for (int64_t i = 0; i < n_hits; i++)
        if (label[i] < 0)
            row[n++] = (int32_t)i;
    if (n == 0)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "augmentation.first_pass left none of the %lld hits of an event",
            (long long)n_hits);
    ETX_CHECK(etx_event_select_with_truth(&rest, *event, row, n));
    etx_event_free(*event);
    *event = rest;
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* An event to train on, which owns the augmented copy. */
static etx_status make_augmented(struct etx_train_event **out,
    const struct etx_trainer *trainer, const struct etx_event *event)
{
    const struct etx_train_config *config = &trainer->config;
    struct etx_random random =
        etx_random_of_event(config->seed, trainer->training.n);
    struct etx_event *augmented = NULL;
    etx_status status;

    ETX_CHECK(
        etx_augment_event(&augmented, event, &random, &config->augmentation));
    if (etx_random_uniform(&random) < config->augmentation.first_pass)
        ETX_CHECK(drop_first_pass(&augmented, trainer));
    ETX_CHECK(etx_train_event_create(out, augmented, config));
    (*out)->augmented = augmented;
    (*out)->n_hits = event->n_hits;
    augmented = NULL;
done:
    etx_event_free(augmented);
    return status;
}

/* event NULL: one of n_hits hits that another rank has. */
static etx_status make_event(struct etx_train_event **out,
    const struct etx_trainer *trainer, const struct etx_event *event,
    int64_t n_hits, int32_t validation)
{
    if (event == NULL && n_hits > 0)
        return etx_train_event_absent(out, n_hits);
    if (event == NULL || event->n_hits == 0)
        return etx_fail(ETX_ERR_ARGUMENT, "an event to train on has no hits");
    if (event->n_hits != n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event has %lld hits, not the %lld that the ranks agreed on",
            (long long)event->n_hits, (long long)n_hits);
    if (event->n_features > 0 &&
        (etx_train_moves_hits(&trainer->config) ||
            trainer->config.augmentation.drop_cells > 0.0f ||
            trainer->config.augmentation.jitter > 0.0f))
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event has its own %d features, which augmentation does "
            "not move: switch rotate_phi, reflect_z, reflect_y, reflect_x, "
            "drop_cells and jitter off",
            (int)event->n_features);
    if (!validation && etx_train_changes_events(&trainer->config.augmentation))
        return make_augmented(out, trainer, event);
    return etx_train_event_create(out, event, &trainer->config);
}

etx_status etx_trainer_insert_event(struct etx_trainer *trainer,
    const struct etx_event *event, int64_t n_hits, int32_t rank,
    int32_t validation)
{
    struct etx_train_event *made = NULL;
    etx_status status;

    if (validation != 0 && validation != 1)
        ETX_FAIL(ETX_ERR_ARGUMENT, "an event's validation is %d, not 0 or 1",
            (int)validation);
    ETX_CHECK(make_event(&made, trainer, event, n_hits, validation));
    assert(made != NULL);
    made->holder = rank;
    ETX_CHECK(etx_train_events_add(
        validation ? &trainer->validation : &trainer->training, made));
    made = NULL;
done:
    etx_train_event_free(made);
    return status;
}

/* Of the stages that make the graphs of the one in training, and how they
 * compute. */
static etx_status hash_stages_before(
    uint64_t *out, const struct etx_trainer *trainer)
{
    const etx_context_options *context = &trainer->context->options;
    uint64_t hash = ETX_HASH_START;
    etx_status status = ETX_OK;

    for (int32_t s = 0; s < trainer->config.stage; s++) {
        ETX_CHECK(etx_hash_json(&hash,
            etx_json_get(trainer->model_config, etx_train_stage_name(s))));
        hash = etx_train_hash_network(
            hash, etx_train_find_network(trainer->model, s));
    }
    hash = etx_train_hash_table(hash, trainer->model->module_map);
    hash = etx_hash_bytes(hash, &context->device, sizeof context->device);
    hash = etx_hash_bytes(hash, &context->precision, sizeof context->precision);
    *out = etx_hash_bytes(
        hash, &trainer->config.stage, sizeof trainer->config.stage);
done:
    return status;
}

etx_status etx_trainer_open_cache(
    struct etx_trainer *trainer, const char *folder)
{
    struct etx_graph_disk_cache *disk = NULL;
    uint64_t hash;
    etx_status status;

    ETX_CHECK(hash_stages_before(&hash, trainer));
    ETX_CHECK(etx_graph_disk_cache_open(
        &disk, folder, hash, trainer->config.sampling.n_graphs));
    etx_graph_disk_cache_close(trainer->graphs.disk);
    trainer->graphs.disk = disk;
done:
    return status;
}

/* ---------------------------------------------------------------- ranks -- */

/* Whether an event belongs to one rank alone. */
static int32_t has_holder(const struct etx_train_events *events)
{
    for (int64_t i = 0; i < events->n; i++)
        if (events->event[i]->holder >= 0)
            return 1;
    return 0;
}

etx_status etx_trainer_join(struct etx_trainer *trainer, const etx_team *team)
{
    if (trainer->progress.step > 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "team: the trainer made %lld steps and must have made none",
            (long long)trainer->progress.step);
    if (has_holder(&trainer->training) || has_holder(&trainer->validation))
        return etx_fail(ETX_ERR_ARGUMENT,
            "team: events of the trainer belong to ranks of its team of %d",
            (int)trainer->team.n_ranks);
    trainer->team = *team;
    trainer->is_agreed = 0;
    return ETX_OK;
}

static etx_status check_partition(const struct etx_trainer *trainer)
{
    const struct etx_train_config *config = &trainer->config;

    if (!etx_train_scores_edges(config))
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: the stage embedding has no graph");
    if (trainer->team.n_ranks > 1)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: the trainer is one of a team of %d",
            (int)trainer->team.n_ranks);
    if (config->sampling.chunk_edges > 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: sampling.chunk_edges is %d and must be 0",
            (int)config->sampling.chunk_edges);
    if (config->loss.pt_weight > 0.0f)
        return etx_fail(ETX_ERR_ARGUMENT,
            "parts of a graph: loss.pt_weight is %g and must be 0",
            (double)config->loss.pt_weight);
    return etx_halo_check(trainer->stage->network);
}

etx_status etx_trainer_partition(
    struct etx_trainer *trainer, const struct etx_train_partition *partition)
{
    etx_status status = ETX_OK;

    if (partition->n_parts > 0)
        ETX_CHECK(check_partition(trainer));
    trainer->partition = *partition;
    trainer->partition.hash = trainer->hash;
    trainer->partition.arena = etx_train_host(trainer->context)->arena;
done:
    return status;
}
