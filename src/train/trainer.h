/* train/trainer.h -- a trainer: one network of a model, its events and how far
 * its training is.
 *
 * Each part has a struct and a header of its own, and functions take the part
 * they work on. Start with training_step.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRAINER_H
#define ETX_TRAIN_TRAINER_H

#include <exatrkx/train.h>

#include "stage/model.h"
#include "train/config.h"
#include "train/graphs/event_graph.h"
#include "train/ranks/partition.h"
#include "train/sampling/edge_sampling.h"
#include "train/sampling/event.h"
#include "train/sampling/random_streams.h"
#include "train/state/best.h"
#include "train/state/model_state.h"
#include "train/state/snapshot.h"

struct etx_objective; /* objective/objective.h */

/* The public etx_trainer. */
struct etx_trainer {
    struct etx_context *context;
    struct etx_train_config config;
    double start; /* seconds, etx_now */

    /* The model. */
    struct etx_json *model_config; /* its etx.config */
    struct etx_model *model;       /* trained in place */
    struct etx_model_stage *stage; /* of model, the one in training */
    uint64_t hash;                 /* of config, start model and its weights */
    const struct etx_objective *objective;

    /* Data. */
    struct etx_train_events training;
    struct etx_train_events validation;
    struct etx_event_graphs graphs;

    /* State. */
    struct etx_train_state state;
    struct etx_train_progress progress;
    struct etx_train_snapshot snapshot;
    struct etx_train_result result; /* of the last validation */
    struct etx_train_best best;

    /* Ranks. */
    etx_team team;     /* rank 0 of 1: alone */
    int32_t is_agreed; /* the ranks compared owners and learning rates */
    struct etx_train_partition partition;
};

static inline uint64_t etx_trainer_seed(const struct etx_trainer *trainer)
{
    return etx_train_seed(trainer->config.seed, trainer->snapshot.n_rollbacks);
}

static inline struct etx_edge_sampler etx_trainer_edge_sampler(
    const struct etx_trainer *trainer)
{
    return (struct etx_edge_sampler){.context = trainer->context,
        .config = &trainer->config,
        .network = &trainer->state.device_network};
}

/* Whether the schedule is over, or validations got no better. */
static inline int32_t etx_trainer_finished(const struct etx_trainer *trainer)
{
    const int64_t patience = trainer->config.validation.patience;

    return trainer->progress.step >= trainer->config.schedule.n_steps ||
           (patience > 0 && trainer->best.n_since >= patience);
}

#endif
