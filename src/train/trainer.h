/* train/trainer.h -- a model in training: events, optimiser, steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRAINER_H
#define ETX_TRAIN_TRAINER_H

#include <exatrkx/train.h>

#include "stage/model.h"
#include "train/config.h"
#include "train/objective/edge_loss.h"
#include "train/sampling/sector.h"

/* Events in the order in which they were added. */
struct etx_train_events {
    int64_t n, capacity;
    struct etx_train_event **event; /* [n] */
    int64_t n_hits;                 /* of all */
};

/* What a validation found. */
struct etx_train_result {
    int64_t step; /* -1: never validated */
    double loss, n_edges, efficiency, purity, auc, threshold;
    double pt_error, pt_spread;
};

/* Numbers of a model that validation sets. */
struct etx_train_thresholds {
    float radius, filter_cut, label_cut;
    float cascade_cut, cascade_kept;
};

/* The best validation so far; parameter is NULL unless it is kept. */
struct etx_train_best {
    struct etx_train_result result;
    struct etx_train_thresholds thresholds;
    double value;     /* of the criterion */
    int64_t n_since;  /* validations that were not better */
    float *parameter; /* [n_values] */
};

/* The mean of the losses of late. */
struct etx_train_mean {
    double loss;
    int64_t n; /* steps in it */
};

/* What the loss is multiplied by before the backward. */
struct etx_train_loss_scale {
    double scale;      /* a power of two; 1 without loss scaling */
    int64_t n_good;    /* steps since it last changed */
    int64_t n_skipped; /* steps left out so far */
};

/* Where to go back to when the loss jumps; arrays are NULL unless asked. */
struct etx_train_snapshot {
    int64_t step; /* -1: none */
    struct etx_train_mean mean;
    struct etx_train_loss_scale loss_scale;
    float *parameter, *m, *v; /* [n_values] */
    float *v_max;             /* [n_values] or NULL */
};

/* The part of every graph that this trainer computes. */
struct etx_train_parts {
    int32_t n_parts; /* 0: whole graphs */
    int32_t part, order;
    etx_part_exchange exchange;
};

/* What a graph brings to what its step is divided by; doubles alone, as ranks
 * add them up. */
struct etx_graph_sums {
    double n_true, n_false; /* edges, or pairs */
    double weight;          /* of the edges; of the true pairs */
    double n;               /* edges or pairs, with weight or not */
};

/* The state of the training where the context computes. On the CPU network's
 * parameters and moments are the trainer's own arrays. */
struct etx_train_there {
    struct etx_network network; /* of the stage, with the parameters there */
    float *m, *v;               /* [n_values] */
    float *v_max;               /* [n_values] or NULL */
    const float *decays; /* [n_values] 1 where weight decay applies, or 0 */
    float *memory;       /* what all of these lie in, owned */
};

/* One step: its graphs, and which rank works on them. In scratch. */
struct etx_step {
    int64_t number;
    int32_t n_graphs;
    struct etx_train_event **event; /* [n_graphs] */
    int32_t *owner;                 /* [n_graphs] ranks */
    struct etx_random random;       /* of graph 0 */
    struct etx_graph_sums *sums;    /* [n_graphs] */
    double *loss; /* [n_graphs] their parts of the step's loss */
    double graphs_seconds, network_seconds; /* as in the report */
};

/* The public etx_trainer. */
struct etx_trainer {
    struct etx_context *context;
    etx_team team;     /* rank 0 of 1: alone */
    int32_t is_agreed; /* the ranks compared what they deal by */
    struct etx_train_config config;
    json_t *model_config;          /* etx.config of the model */
    struct etx_model *model;       /* trained in place */
    struct etx_model_stage *stage; /* of model, the one in training */
    uint64_t hash;                 /* of config, start model and its weights */
    struct etx_train_events training;
    struct etx_train_events validation;
    struct etx_train_cache *cache; /* of graphs on disk, or NULL */
    int64_t graph_bytes;           /* of all graphs kept */
    int64_t n_uses;                /* of graphs, for the least recent one */
    struct etx_train_there there;
    float *gradient; /* [n_values] where the context computes */
    float *m, *v;    /* [n_values] on the host, as of the last state_get */
    float *v_max;    /* [n_values] or NULL */
    int64_t step;
    int64_t n_rollbacks;
    struct etx_train_mean mean;
    struct etx_train_loss_scale loss_scale;
    struct etx_train_snapshot snapshot;
    struct etx_train_parts parts;
    struct etx_train_result result; /* of the last validation */
    struct etx_train_best best;
    double start; /* seconds on the monotonic clock */
};

etx_status etx_trainer_open(struct etx_trainer **out,
    struct etx_context *context, const char *config,
    const struct etx_model *start);
void etx_trainer_close(struct etx_trainer *trainer);
/* event NULL: one of n_hits hits, which rank has. rank -1: all have it. */
etx_status etx_trainer_take_event(struct etx_trainer *trainer,
    const struct etx_event *event, int64_t n_hits, int32_t rank,
    int32_t validation);

/* Keep graphs in this folder from now on. */
etx_status etx_trainer_open_cache(
    struct etx_trainer *trainer, const char *folder);

/* export.c: as etx_trainer_hash. */
uint64_t etx_train_hash_state(const struct etx_trainer *trainer);

/* Copy the parameters of a stage (enum etx_train_stage) where both have it. */
void etx_train_copy_stage(
    struct etx_model *to, const struct etx_model *from, int32_t stage);

/* training_step.c: trainer->step + 1, as etx_trainer_step. */
etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report);

etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report);

/* Whether the schedule is over, or validations got no better. */
int32_t etx_trainer_finished(const struct etx_trainer *trainer);

/* The monotonic clock, seconds. */
double etx_train_now(void);

/* Of all draws of a step; another one after every rollback, as the same draws
 * would lead to the same loss. */
uint64_t etx_train_seed(const struct etx_trainer *trainer);

/* sampling/event_order.c: steps that see every event once. */
int64_t etx_train_steps_per_epoch(const struct etx_trainer *trainer);

/* The events of step, in scratch: *event [*n]. */
etx_status etx_train_draw_events(struct etx_train_event ***event, int32_t *n,
    const struct etx_trainer *trainer, int64_t step, struct etx_random *random);

/* state/stability.c: arrays of the snapshot, when the config asks for one. */
etx_status etx_train_snapshot_open(struct etx_trainer *trainer);
void etx_train_snapshot_close(struct etx_trainer *trainer);
/* Keep the state of now, when it is time. */
etx_status etx_train_snapshot_take(struct etx_trainer *trainer);
/* Whether this loss or gradient of a step is a spike; else it enters the
 * mean. */
int32_t etx_train_is_spike(
    struct etx_trainer *trainer, double loss, double gradient_norm);
/* Go back to the snapshot; ETX_ERR_LIMIT when that happened too often. */
etx_status etx_train_roll_back(struct etx_trainer *trainer, double loss);

/* state/loss_scale.c: start at what the config says. */
#define ETX_MIN_LOSS_SCALE 1.0
#define ETX_MAX_LOSS_SCALE 0x1p126 /* its inverse is a normal float */
void etx_train_loss_scale_open(struct etx_trainer *trainer);
double etx_train_loss_scale(const struct etx_trainer *trainer);
/* Whether a step with this gradient is left out, which halves the scale. */
int32_t etx_train_loss_scale_skips(
    struct etx_trainer *trainer, double gradient_norm);
/* A step was made. */
void etx_train_loss_scale_grow(struct etx_trainer *trainer);

/* validation/best.c: compare trainer->result with the best; 1 when it is the
 * new one. */
int32_t etx_train_note_result(struct etx_trainer *trainer);
struct etx_train_thresholds etx_train_get_thresholds(
    const struct etx_model *model);
void etx_train_set_thresholds(
    struct etx_model *model, const struct etx_train_thresholds *thresholds);

/* export.c: a copy of the model with its thresholds and provenance. */
etx_status etx_trainer_export(
    struct etx_model **out, const struct etx_trainer *trainer);

/* checkpoint.c */
etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path);
etx_status etx_checkpoint_read(struct etx_trainer *trainer, const char *path);

/* graphs/event_graph.c: the graph that reaches the stage, from the cache or
 * made. */
etx_status etx_train_graph(const struct etx_graph **out,
    struct etx_trainer *trainer, struct etx_train_event *event);

/* Where the trainer itself works: scratch and threads of the host. */
static inline struct etx_stream *etx_train_host(
    const struct etx_trainer *trainer)
{
    return etx_host_of(trainer->context)->stream;
}

/* transfer.c: scratch of the host and of the context, to go back to. */
struct etx_train_marks {
    struct etx_arena_mark host, there;
};
struct etx_train_marks etx_train_mark(const struct etx_trainer *trainer);
void etx_train_reset(
    const struct etx_trainer *trainer, struct etx_train_marks marks);

/* state/model_state.c: trainer->there and ->gradient, from the model and the
 * moments of the host. */
etx_status etx_train_state_open(struct etx_trainer *trainer);
void etx_train_state_close(struct etx_trainer *trainer);
/* The parameters and moments of the host to where the context computes, and
 * back: the host's are those of the last time. Nothing to do on the CPU. */
etx_status etx_train_state_put(const struct etx_trainer *trainer);
etx_status etx_train_state_get(const struct etx_trainer *trainer);

/* *there [n_values]: where a backward adds to gradient, a slice: itself, but
 * on a device of a team, whose slices are the host's, zeros in scratch, which
 * close adds to it. */
etx_status etx_train_gradient_open(
    float **there, const struct etx_trainer *trainer, float *gradient);
etx_status etx_train_gradient_close(
    const struct etx_trainer *trainer, float *gradient, float *there);

/* *out [n] zeros in scratch where the context computes. */
etx_status etx_train_zeros(float **out, const struct etx_trainer *trainer,
    int64_t n, const char *what);
/* *out_pointer: values [n] of size bytes of the host where the context
 * computes, and values of there on the host: themselves on the CPU, else
 * copies in scratch. */
etx_status etx_train_bring(void *out_pointer, const struct etx_trainer *trainer,
    const void *values, int64_t n, size_t size, const char *what);
etx_status etx_train_fetch(float **out, const struct etx_trainer *trainer,
    float *values, int64_t n, const char *what);
/* What the network reads of a sample and a graph of it, which may be NULL,
 * where the context computes; *copy, NULL or to be freed, is a graph that out
 * borrows. */
etx_status etx_train_input(struct etx_network_input *out,
    struct etx_graph **copy, struct etx_trainer *trainer,
    const struct etx_sample *sample, const struct etx_graph *graph);

/* ranks/batch.c: the step on these events [n_graphs], dealt to the ranks;
 * random as it is after they were drawn. */
etx_status etx_step_begin(struct etx_step *step, struct etx_trainer *trainer,
    struct etx_train_event **event, int32_t n_graphs,
    const struct etx_random *random);
int32_t etx_step_is_mine(
    const struct etx_step *step, const struct etx_trainer *trainer, int32_t k);
/* The draws of graph k. */
struct etx_random etx_step_random(
    const struct etx_step *step, const struct etx_trainer *trainer, int32_t k);
/* The sums of the graphs of all ranks. */
etx_status etx_step_share_sums(
    struct etx_step *step, const struct etx_trainer *trainer);
/* The losses of the graphs of all ranks; loss, n_edges, imbalance,
 * loss_spread and the seconds of the report. */
etx_status etx_step_share_losses(const struct etx_step *step,
    const struct etx_trainer *trainer, etx_training_report *report);

/* embedding.c and edges.c: trainer->gradient = that of the step, over all
 * ranks; fills sums and loss of this rank's graphs, and of all after
 * etx_step_share_losses. */
etx_status etx_train_embedding(
    struct etx_trainer *trainer, struct etx_step *step);
etx_status etx_train_edges(struct etx_trainer *trainer, struct etx_step *step);

/* ranks/partition.c: see etx_trainer_set_parts; arguments are checked but for
 * what the trainer itself does not allow. */
etx_status etx_trainer_share(
    struct etx_trainer *trainer, const struct etx_train_parts *parts);

/* An edge network on what a step or a validation gives it. */
struct etx_train_pass {
    const struct etx_network_input *input; /* a whole graph */
    const float *target;                   /* [n_edges] */
    const float *weight;                   /* [n_edges] */
    const struct etx_edge_norm *norm;
    float *gradient; /* [n_values] added to */
};

/* Forward, loss and backward of this trainer's part: adds to *loss and to
 * pass->gradient what its own edges give. */
etx_status etx_train_part_step(struct etx_trainer *trainer,
    const struct etx_train_pass *pass, double *loss);

/* logit [n_edges of the whole graph], of all parts. */
etx_status etx_train_part_logits(float *logit, struct etx_trainer *trainer,
    const struct etx_network_input *input);

/* trainer->gradient and loss [n_graphs] become their sums over the parts, the
 * same on all of them; nothing to do for whole graphs. */
etx_status etx_train_sum_parts(
    struct etx_trainer *trainer, double *loss, int64_t n_graphs);

/* ranks/partition_end.c: all parts came to the end of a step or a validation
 * and may write what lasts; ETX_ERR_CANCELLED, or what the exchange says, when
 * one did not. Nothing to do for whole graphs. */
etx_status etx_train_meet_parts(const struct etx_trainer *trainer);

/* A step or a validation ended with status: tell the other parts. */
void etx_train_leave_parts(struct etx_trainer *trainer, etx_status status);

/* edges.c: how a network keeps latents for the backward. */
struct etx_tape etx_train_tape(const struct etx_trainer *trainer);

/* validation/validate.c: result and thresholds of the model. */
etx_status etx_train_validate(
    struct etx_trainer *trainer, etx_training_report *report);

/* state/optimiser.c: clip trainer->gradient, whose norm this is without the
 * scale of the loss, and step. */
etx_status etx_train_update(struct etx_trainer *trainer, int64_t step,
    float learning_rate, double gradient_norm);
/* *out = the norm of value [n_values], which is where the context computes. */
etx_status etx_train_norm(
    double *out, const struct etx_trainer *trainer, const float *value);

#endif
