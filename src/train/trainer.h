/* train/trainer.h -- a model in training: events, optimiser, steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRAINER_H
#define ETX_TRAIN_TRAINER_H

#include <exatrkx/train.h>

#include "stage/model.h"
#include "train/config.h"
#include "train/sample.h"

/* Events in the order in which they were added. */
struct etx_train_events {
    int64_t n, capacity;
    struct etx_train_event **event; /* [n] */
    int64_t n_hits;                 /* of all */
};

/* What the last validation found. */
struct etx_train_result {
    int64_t step; /* -1: never validated */
    double loss, n_edges, efficiency, purity, auc, threshold;
};

/* The public etx_trainer. */
struct etx_trainer {
    struct etx_context *context;
    struct etx_train_config config;
    json_t *model_config;     /* etx.config of the model */
    struct etx_model *model;  /* trained in place */
    struct etx_model_stage *stage; /* of model, the one in training */
    uint64_t hash;            /* of config, start model and its weights */
    struct etx_train_events training;
    struct etx_train_events validation;
    int64_t graph_bytes; /* of all graphs kept */
    int64_t n_uses;      /* of graphs, for the least recent one */
    float *gradient;     /* [n_values] */
    float *m, *v;        /* [n_values] */
    float *v_max;        /* [n_values] or NULL */
    int64_t step;
    struct etx_train_result result;
    double start; /* seconds on the monotonic clock */
};

etx_status etx_trainer_open(struct etx_trainer **out,
    struct etx_context *context, const char *config,
    const struct etx_model *start);
void etx_trainer_close(struct etx_trainer *trainer);
etx_status etx_trainer_take_event(struct etx_trainer *trainer,
    const struct etx_event *event, int32_t validation);

/* trainer->step + 1, as etx_trainer_step. */
etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report);

etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report);

/* A copy of the model with its thresholds and provenance. */
etx_status etx_trainer_export(
    struct etx_model **out, const struct etx_trainer *trainer);

/* checkpoint.c */
etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path);
etx_status etx_checkpoint_read(
    struct etx_trainer *trainer, const char *path);

/* graphs.c: the graph that reaches the stage, from the cache or made. */
etx_status etx_train_graph(const struct etx_graph **out,
    struct etx_trainer *trainer, struct etx_train_event *event);

/* embedding.c and edges.c: add the gradient of one step on this event to
 * trainer->gradient; report gets loss and n_edges. */
etx_status etx_train_embedding(struct etx_trainer *trainer,
    struct etx_train_event *event, struct etx_random *random,
    etx_training_report *report);
etx_status etx_train_edges(struct etx_trainer *trainer,
    struct etx_train_event *event, struct etx_random *random,
    etx_training_report *report);

/* validate.c: result and thresholds of the model. */
etx_status etx_train_validate(
    struct etx_trainer *trainer, etx_training_report *report);

/* optimiser.c: clip trainer->gradient and step; its norm before clipping. */
etx_status etx_train_update(struct etx_trainer *trainer, int64_t step,
    float learning_rate, double *gradient_norm);
double etx_train_norm(int64_t n, const float *value);

#endif
