/* exatrkx/train.h -- train the networks of a pipeline.
 *
 * A trainer has a model, an optimiser and events with truth. It trains one
 * stage: the embedding, then the filter, then the graph network, each on the
 * graphs that the stages before it build. docs/training_config.md describes
 * the configuration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_H
#define ETX_TRAIN_H

#include <exatrkx/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Used by one thread at a time. The context and the events that it was given
 * must outlive it. */
typedef struct etx_trainer etx_trainer;

/* config is JSON text: the stage to train, its network and its schedule. start
 * may be NULL; else stages that the config does not describe come from it with
 * their weights. ETX_ERR_FORMAT for an invalid config, ETX_ERR_UNSUPPORTED for
 * a context on a device when the network can be trained on the CPU only. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_create(etx_trainer **out,
    etx_context *context, const char *config, const etx_model *start);

/* Add an event with truth for training (validation 0) or validation (1). It is
 * kept by reference: it must not change or be freed before the trainer is. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_add_event(
    etx_trainer *trainer, const etx_event *event, int32_t validation);

/* Cache the input graphs of the stage as files in an existing folder; later
 * trainings on the same earlier stages find them. Graphs of the next step are
 * read ahead by a thread, so after fork the trainer must not be used in the
 * child. A damaged file is ETX_ERR_FORMAT, a folder that is not there or cannot
 * be written ETX_ERR_IO, each at the step that needs it. The embedding has no
 * input graphs. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_set_cache(
    etx_trainer *trainer, const char *folder);

/* Partition the graph of every step and validation into n_parts parts, of which
 * this trainer computes `part` (etx_graph_partition with this order and
 * etx_graph_part_score in graph.h). n_parts trainers, each in a thread or
 * process of its own, with the same config, start model and events, then make
 * the same calls at the same time. Latents and their gradients cover one
 * part, parameter gradients are summed in the order of the parts, and all
 * trainers have the same model after every step: up to rounding the one of a
 * single trainer. exchange is copied; its user must outlive the trainer. NULL
 * with n_parts 1 ends the partition. ETX_ERR_ARGUMENT for the stage embedding,
 * with sampling.chunk_edges or loss.pt_weight, and for a trainer in a team;
 * ETX_ERR_UNSUPPORTED for a network that needs whole graphs. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_set_parts(etx_trainer *trainer,
    int32_t n_parts, int32_t part, int32_t order,
    const etx_part_exchange *exchange);

/* Bound of the validation of an embedding: with more edges per hit than this in
 * any event, efficiency, purity and n_edges are nan, and the validation does
 * not count for validation.patience. */
#define ETX_VALIDATION_EDGES_PER_HIT 300

/* *out: a copy of model with ETX_STAGE_COMPLETION, owned by the caller. Learned
 * from the true tracks of events [n_events] with truth and modules; one full
 * event is enough, or ten small ones: the layers that follow each other, the
 * quantiles of the distance between a helix and the hits there, and the bending
 * field. options NULL: the defaults. ETX_ERR_ARGUMENT for an event without
 * truth or modules, ETX_ERR_LIMIT for more than 64 layers. */
ETX_API ETX_MUST_CHECK etx_status etx_model_learn_completion(etx_model **out,
    const etx_model *model, int64_t n_events, const etx_event *const *events,
    const etx_completion_options *options);

/* *out: a copy of model, which has ETX_STAGE_COMPLETION, with
 * ETX_STAGE_FIRST_PASS, owned by the caller. Learned from the true tracks of
 * events [n_events] with truth and modules: the layers that tracks from the
 * beam line begin with, how well a helix predicts the third hit, and where they
 * begin. options NULL: the defaults. Errors as etx_model_learn_completion; and
 * ETX_ERR_ARGUMENT when the model has no completion, or the events no track
 * from the beam line, or tracks that are no helices about z. */
ETX_API ETX_MUST_CHECK etx_status etx_model_learn_first_pass(etx_model **out,
    const etx_model *model, int64_t n_events, const etx_event *const *events,
    const etx_first_pass_options *options);

/* What a module map knows of a hit: where it is. */
#define ETX_MAP_MODULES 0 /* its module */
#define ETX_MAP_LAYERS  1 /* its layer */

/* How a module map is learned. */
typedef struct etx_module_map_options {
    uint32_t struct_size; /* set by etx_module_map_options_init */
    int32_t units;        /* ETX_MAP_; default modules */
    int32_t use_triplets; /* 1: an edge also needs one that continues it, at one
                           * of its ends; default 0 */
    float min_pt;         /* GeV, of the tracks; default 0 */
    float tail;           /* share of the values outside a window, at either of
                           * its ends; below 0.5, default 0 */
    float margin;         /* windows of n values are widened by margin / n of
                           * their length at either end, or of the typical
                           * length if longer; 0 to 1000, default 10 */
} etx_module_map_options;

/* Defaults for all fields; errors as etx_label_options_init. */
ETX_API ETX_MUST_CHECK etx_status etx_module_map_options_init(
    etx_module_map_options *options, size_t struct_size);

/* *out: a copy of model, owned by the caller, whose candidate edges come from a
 * module map instead of its embedding (etx_graph_build_module_map). Learned
 * from the true tracks of events [n_events] with truth and modules: the pairs
 * of modules, or of layers, that tracks cross after each other, and the range
 * there of z at the beam line, difference of azimuth, phi slope and difference
 * of pseudorapidity; with triplets also that of the changes of direction. A map
 * of modules knows only what it saw: it needs many events. options NULL: the
 * defaults. ETX_ERR_ARGUMENT for an event without truth or modules, and when no
 * track has two hits. Method: Biscarat et al., EPJ Web Conf. 251, 03047 (2021);
 * windows between layers: Farrell et al., arXiv:1810.06111. */
ETX_API ETX_MUST_CHECK etx_status etx_model_learn_module_map(etx_model **out,
    const etx_model *model, int64_t n_events, const etx_event *const *events,
    const etx_module_map_options *options);

/* Result of a step or a validation; values that do not apply are nan. */
typedef struct etx_training_report {
    uint32_t struct_size;  /* sizeof(etx_training_report), by the caller */
    int32_t is_validation; /* 1: over all validation events */
    int64_t step;          /* optimiser steps so far */
    int64_t n_steps;       /* of the whole schedule */
    double loss;           /* of the step or the validation */
    double learning_rate;  /* of the step */
    double gradient_norm;  /* of all parameters, before clipping */
    double weight_norm;    /* of all parameters, after the step */
    double n_edges;        /* of the step or the validation */
    double efficiency;   /* signal pairs kept / all signal pairs; in a graph of
                          * orientation both each direction is one */
    double purity;       /* true kept edges / kept edges */
    double auc;          /* area under the ROC curve of the edge scores */
    double threshold;    /* radius or score cut for the requested efficiency */
    double seconds;      /* since the trainer was created */
    int32_t is_rollback; /* 1: the loss jumped to `loss`, and the trainer went
                          * back to `step` */
    int32_t n_rollbacks; /* so far */
    int32_t is_best;     /* 1: the best validation so far */
    int32_t is_finished; /* as etx_trainer_is_finished */
    double imbalance;    /* of the step: largest / mean work of a rank, counted
                          * in edges or pairs */
    double loss_spread;  /* of the step: (largest - smallest loss of a rank) /
                          * loss; 0 with one rank. The loss of a rank is the
                          * contribution of its graphs, normalised by their
                          * share of the step */
    double graphs_seconds; /* of the step, this rank: building or reading graphs
                            * and sampling edges or pairs */
    double network_seconds; /* of the step, this rank: forward, loss, backward,
                             * and the exchange between parts */
    double pt_error;        /* of the validation, with loss.pt_weight: root mean
                             * square error of the momentum head over true edges
                             * with a weight, of ln(pT / GeV) or, with
                             * loss.pt_target "inverse", of GeV / pT */
    double pt_spread;   /* standard deviation of the truth over the same edges:
                         * the error of a constant prediction */
    double loss_scale;  /* of the step, with loss_scaling: factor of the loss in
                         * the backward pass */
    int32_t is_skipped; /* 1: the scaled gradient was not finite; the step only
                         * halved the scale */
    int32_t n_skipped;  /* skipped steps so far */
} etx_training_report;

/* Assignment of the graphs of a step to ranks. Unless is_fast is 1 it does not
 * change results. */
#define ETX_ASSIGN_BALANCED 0 /* largest first, to the rank with least work */
#define ETX_ASSIGN_IN_TURN  1 /* graph k to rank k modulo n_ranks */

/* Collective operations of the ranks that train one model together, implemented
 * by the caller; libexatrkx_dist has one over MPI, NCCL and threads (dist.h).
 * The graphs of a step and the events of a validation are assigned to the
 * ranks, and the results are summed. All ranks make the same calls on trainers
 * with the same config, start model and events; reports are the same on all but
 * for times. The functions are called by all ranks in the same order, on the
 * thread of the call. When one fails, with a message by etx_set_last_error, the
 * call fails with its status (ETX_ERR_IO for a value that is none) and the
 * trainer can only be freed, as the ranks may differ. */
typedef struct etx_team {
    uint32_t struct_size; /* sizeof(etx_team), by the caller */
    int32_t rank;         /* 0 .. n_ranks-1 */
    int32_t n_ranks;      /* at least 1 */
    int32_t assignment;   /* ETX_ASSIGN_ */
    int32_t is_fast;  /* gradients that sum_slices gets: 1: one per rank, the
                       * sum over its graphs; 0: one per graph, so that the
                       * result does not depend on n_ranks */
    int32_t reserved; /* 0 */
    void *user;       /* first argument of the functions */
    /* All-reduce: values [n] become their sum over the ranks, the same bits on
     * all; exact where all ranks but one have zeros. */
    etx_status (*sum)(void *user, double *values, int64_t n);
    /* All-gather: all = mine [count[0]] of rank 0, mine [count[1]] of rank 1,
     * and so on; count [n_ranks]. */
    etx_status (*gather)(
        void *user, uint64_t *all, const uint64_t *mine, const int64_t *count);
    /* Gradient reduction: sum [n_values] = the sum of the arrays slice[k]
     * [n_values], the same bits on all ranks; owner and slice [n_slices]. Rank
     * owner[k] has slice[k], which it may overwrite; on other ranks slice[k] is
     * NULL. To be independent of n_ranks the sum must be that of
     * etx_gradient_sum. */
    etx_status (*sum_slices)(void *user, float *sum, int64_t n_values,
        int64_t n_slices, const int32_t *owner, float *const *slice);
    /* In place of sum_slices for trainers with a context on a device, or NULL:
     * gradients then come to the host. slice[k] [n_values] in memory of this
     * rank's device, k = 0 .. n_slices - 1, complete, becomes that of rank
     * owner[k] before it returns; the trainer adds them there, as
     * etx_gradient_sum does. */
    etx_status (*share_slices)(void *user, float *const *slice,
        int64_t n_values, int64_t n_slices, const int32_t *owner);
} etx_team;

/* Join a team; before the first step and before an event is assigned to a rank.
 * team is copied; what it points to must outlive the trainer or the next call
 * of this. NULL: leave the team. ETX_ERR_ARGUMENT for a team that lacks a
 * function or has a field out of bounds. The ranks need the same C library and
 * kind of processor: when learning rates or the assignment of work differ, the
 * first step fails on all ranks with ETX_ERR_FORMAT. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_set_team(
    etx_trainer *trainer, const etx_team *team);

/* As etx_trainer_add_event, for an event that only one rank of the team has: on
 * the others event is NULL. All ranks make the call, with the event's n_hits,
 * in the same order. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_add_event_of_rank(
    etx_trainer *trainer, const etx_event *event, int64_t n_hits, int32_t rank,
    int32_t validation);

/* Sum over the graphs of a step, whose result does not depend on ranks:
 * slice[0] [n_values] becomes the sum of slice[k] [n_values], k < n_slices, as
 * a balanced tree: 0+1, 2+3, ..., then the sums of neighbours. The other slices
 * are overwritten. */
ETX_API ETX_MUST_CHECK etx_status etx_gradient_sum(
    float *const *slice, int64_t n_values, int64_t n_slices);

/* Number of optimiser steps so far. */
ETX_API int64_t etx_trainer_steps_done(const etx_trainer *trainer);
/* Number of optimiser steps of the schedule. */
ETX_API int64_t etx_trainer_n_steps(const etx_trainer *trainer);
/* Number of optimiser steps that see as many events as there are for
 * training, at least 1; 0 for NULL. */
ETX_API int64_t etx_trainer_epoch_steps(const etx_trainer *trainer);

/* 1 when the network in training is new, as the config has a "model"; 0 when it
 * is that of the start model. */
ETX_API int32_t etx_trainer_is_new(const etx_trainer *trainer);

/* 1 when the schedule is over, or after validation.patience validations in a
 * row without an improvement; else 0. NULL is finished. */
ETX_API int32_t etx_trainer_is_finished(const etx_trainer *trainer);

/* One optimiser step; the caller sets report->struct_size. ETX_ERR_ARGUMENT
 * after the last step of the schedule, and without events to train on. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_step(
    etx_training_report *report, etx_trainer *trainer);

/* Evaluate the stage on the validation events (ETX_ERR_ARGUMENT without); sets
 * its radius or cut in the model when the config requests an efficiency. The
 * caller sets report->struct_size. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_validate(
    etx_training_report *report, etx_trainer *trainer);

/* Write a checkpoint atomically: parameters, moments, step, counters and a hash
 * of the config; ETX_ERR_IO. Training that resumes from it gives the same bits,
 * in a context of the same precision, device and CPU level; with is_fast of a
 * team and balanced assignment the last bits may differ. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_save_checkpoint(
    const etx_trainer *trainer, const char *path);
/* Resume from a checkpoint of the same config and events, written on any
 * machine. ETX_ERR_IO, ETX_ERR_FORMAT when the file is damaged,
 * ETX_ERR_ARGUMENT when it belongs to another training; the trainer is then
 * unchanged. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_load_checkpoint(
    etx_trainer *trainer, const char *path);

/* Hash of parameters, moments, thresholds and step, to compare trainings. */
ETX_API uint64_t etx_trainer_hash(const etx_trainer *trainer);

/* *out: the model as trained so far, owned by the caller; with
 * validation.keep_best that of the best validation so far. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_model(
    etx_model **out, const etx_trainer *trainer);

/* Free it; NULL is allowed. */
ETX_API void etx_trainer_free(etx_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
