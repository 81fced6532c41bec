/* exatrkx/train.h -- train the networks of a pipeline.
 *
 * A trainer holds a model, its optimiser and a list of events with truth. It
 * trains one stage at a time: embedding, filter, then gnn, each on the graphs
 * that the stages before it build. docs/training.md describes the JSON.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_H
#define ETX_TRAIN_H

#include <exatrkx/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Used by one thread at a time; owns copies of nothing: events must outlive
 * it. */
typedef struct etx_trainer etx_trainer;

/* config: JSON text with the stage to train, its network ("model") and its
 * schedule (docs/training.md). start may be NULL; when given, stages that it
 * holds and the config does not describe anew are taken from it with their
 * weights. context must outlive the trainer; ETX_ERR_UNSUPPORTED when it is on
 * a device and the network is for the CPU alone. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_create(etx_trainer **out,
    etx_context *context, const char *config, const etx_model *start);

/* Events to train on and to validate on, with truth; kept by reference: they
 * must not be changed nor freed while the trainer lives. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_add_event(
    etx_trainer *trainer, const etx_event *event, int32_t validation);

/* Keep the graphs that reach the stage as files in an existing folder, found
 * again by later trainings on the same stages before it, and read the next
 * step's ahead on a thread. A file that is damaged is ETX_ERR_FORMAT at the
 * step that needs it. An embedding has no such graphs. In a child after fork
 * the trainer must not be used any more: it lacks the thread. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_set_cache(
    etx_trainer *trainer, const char *folder);

/* Share the graph of every step and validation out to n_parts parts, of which
 * this trainer computes one (graph.h: etx_graph_partition with this order, and
 * etx_graph_part_score). n_parts trainers, each used by a thread or process of
 * its own, of the same config, start model and events, then do the same calls
 * at once: latents and their gradients are those of a part, gradients of the
 * parameters are summed in the order of the parts, and all trainers hold the
 * same model after every step. Up to rounding the gradient is that of one
 * trainer alone. exchange is copied and what its user points to outlives the
 * trainer; NULL and n_parts 1: alone again. ETX_ERR_ARGUMENT for the stage
 * embedding, with sampling.chunk_edges or loss.pt_weight and for one of a team,
 * ETX_ERR_UNSUPPORTED for a network that needs whole graphs. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_set_parts(etx_trainer *trainer,
    int32_t n_parts, int32_t part, int32_t order,
    const etx_part_exchange *exchange);

/* A validation of an embedding whose radius joins more edges a hit than this,
 * in any one event, is not measured: its efficiency, purity and n_edges are
 * nan, and it takes no part in validation.patience. */
#define ETX_VALIDATION_EDGES_PER_HIT 300

/* *out: a copy of model that completes tracks (ETX_STAGE_COMPLETION). Learned
 * from the true tracks of events [n_events] with truth and modules, one full
 * event or ten small ones on: the layers that follow each other, by how much a
 * helix misses the hits there, and the bending field. Not kept after the call.
 * options NULL: the defaults. ETX_ERR_ARGUMENT for an event without truth or
 * modules, ETX_ERR_LIMIT for more than 64 layers. */
ETX_API ETX_MUST_CHECK etx_status etx_model_learn_completion(etx_model **out,
    const etx_model *model, const etx_event *const *events, int64_t n_events,
    const etx_completion_options *options);

/* What a step or a validation found; fields that do not apply are nan. */
typedef struct etx_training_report {
    uint32_t struct_size;  /* set by the caller */
    int32_t is_validation; /* 1: over all validation events */
    int64_t step;          /* optimiser steps so far */
    int64_t n_steps;       /* of the whole schedule */
    double loss;           /* of the step, or of validation */
    double learning_rate;  /* of the step */
    double gradient_norm;  /* before clipping, of all parameters */
    double weight_norm;    /* of all parameters, after the step */
    double n_edges;        /* of the step or of validation */
    double efficiency;     /* true edges kept */
    double purity;         /* true among kept edges */
    double auc;            /* of edge scores */
    double threshold;      /* radius or score cut that keeps the wanted
                            * efficiency */
    double seconds;        /* since the trainer was made */
    int32_t is_rollback;   /* 1: the loss jumped; step is the one that the
                            * trainer went back to, loss the one of the jump */
    int32_t n_rollbacks;   /* so far */
    int32_t is_best;       /* 1: of a validation, the best so far */
    int32_t is_finished;   /* 1: as etx_trainer_is_finished */
    double imbalance;      /* of the step: most work of a rank / mean over the
                            * ranks; work is counted in edges (or pairs) */
    double loss_spread;    /* of the step: largest minus smallest loss of a rank
                            * / loss; 0 with one rank. A rank's loss is what its
                            * graphs bring to that of the step, divided by their
                            * share of what that is a mean over: of the weight,
                            * number or graphs of edges with a weight, or pairs
                            */
    double graphs_seconds; /* of a step, of this rank alone: making or reading
                            * its graphs, choosing their edges or pairs */
    double
        network_seconds; /* of a step, of this rank alone: forward, loss and
                          * backward on its graphs; with etx_trainer_set_parts
                          * the exchange of rows, too */
    double pt_error;     /* of validation, with loss.pt_weight: root of the
                          * mean squared error of the momentum head over the
                          * true edges with a weight; ln(pT / GeV) or, with
                          * loss.pt_target "inverse", GeV / pT */
    double pt_spread;    /* standard deviation of the truth over them: the
                          * error of a head that says its mean everywhere */
    double loss_scale;   /* of the step, with loss_scaling: what the loss was
                          * multiplied by for the backward */
    int32_t is_skipped;  /* 1: the gradient was not finite under that scale,
                          * which is now half: the step changed nothing else */
    int32_t n_skipped;   /* such steps so far */
} etx_training_report;

/* Which rank works on which graph of a step; with is_fast 0 it changes no
 * result. */
#define ETX_DEAL_BALANCED 0 /* largest first, to the rank with the least */
#define ETX_DEAL_IN_TURN  1 /* graph k to rank k modulo their number */

/* The ranks that train one model together, as the trainer of each sees them:
 * the graphs of a step and the events of a validation are dealt to the ranks,
 * and what they found is added up. All ranks make the same calls on trainers
 * of the same config, start model and events; every report but its times is
 * the same on all. The functions are called by every rank in the same order,
 * on the thread of the call; when one fails, with a message by
 * etx_set_last_error, the call fails with its status, and the trainer is good
 * for nothing but etx_trainer_free, as the ranks may differ. libexatrkx_dist
 * (dist.h) has a team over MPI and over threads. */
typedef struct etx_team {
    uint32_t struct_size; /* sizeof(etx_team) of the caller */
    int32_t rank;         /* 0 .. n_ranks-1 */
    int32_t n_ranks;      /* at least 1 */
    int32_t deal;         /* ETX_DEAL_ */
    int32_t is_fast;      /* 1: sum_slices gets one slice a rank, the sum of
                           * its graphs in their order; 0: one a graph, so that
                           * the sum need not know how many ranks there are */
    int32_t reserved;     /* 0 */
    void *self;           /* first argument of the functions */
    /* values [n] become their sum over the ranks, the same bits on all; exact
     * where all ranks but one hold zeros. */
    etx_status (*sum)(void *self, double *values, int64_t n);
    /* all = mine [count[rank]] of rank 0, of rank 1, ... */
    etx_status (*gather)(
        void *self, uint64_t *all, const uint64_t *mine, const int64_t *count);
    /* sum [n_values] = the sum of n_slices slices [n_values] each, the same
     * bits on all ranks; rank owner[k] [n_slices] has slice[k] [n_slices],
     * which it may overwrite, the others NULL in its place. The bits that
     * do not depend on n_ranks are those of etx_gradient_sum. */
    etx_status (*sum_slices)(void *self, float *sum, int64_t n_values,
        int64_t n_slices, const int32_t *owner, float *const *slice);
} etx_team;

/* Train with others from now on; team is copied, what it points to must
 * outlive the trainer or the next call of this. NULL: alone. Before the first
 * step and before an event is given to a rank. ETX_ERR_ARGUMENT after one of
 * these, and for a team that lacks a function or has rank, n_ranks, deal or
 * reserved out of bounds. Ranks of a team need the same C library and kind of
 * processor: the first step fails on all of them with ETX_ERR_FORMAT when what
 * they share the work out by, or their learning rates, differ. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_set_team(
    etx_trainer *trainer, const etx_team *team);

/* As etx_trainer_add_event, for an event that only one rank of the team holds:
 * there event is given, on the others it is NULL. Its n_hits are known to all,
 * who add the same events in the same order. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_add_event_of_rank(
    etx_trainer *trainer, const etx_event *event, int64_t n_hits, int32_t rank,
    int32_t validation);

/* slice[0] [n_values] = the sum of slice[k] [n_slices] of n_values each by a
 * balanced tree over k: neighbours are added, then the neighbours' sums, and so
 * on. It is the sum over the graphs of a step. The other slices hold anything
 * after it. */
ETX_API ETX_MUST_CHECK etx_status etx_gradient_sum(
    float *const *slice, int64_t n_slices, int64_t n_values);

/* Optimiser steps so far. */
ETX_API int64_t etx_trainer_steps_done(const etx_trainer *trainer);
/* Optimiser steps of the whole schedule. */
ETX_API int64_t etx_trainer_n_steps(const etx_trainer *trainer);

/* 1 when the schedule is over, or when validation.patience validations in a
 * row were not better; else 0. NULL is finished. */
ETX_API int32_t etx_trainer_is_finished(const etx_trainer *trainer);

/* One optimiser step. The caller sets report->struct_size. At the end
 * report->step == report->n_steps; a step after that is ETX_ERR_ARGUMENT. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_step(
    etx_trainer *trainer, etx_training_report *report);

/* Run the validation events. Sets the stage's radius or cut in the model when
 * the config asks for an efficiency. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_validate(
    etx_trainer *trainer, etx_training_report *report);

/* Everything to go on bit for bit: parameters, moments, step, counters and a
 * hash of the config; written atomically. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_save_checkpoint(
    const etx_trainer *trainer, const char *path);
/* Go on from a checkpoint of the same config and the same events, made on any
 * machine. ETX_ERR_FORMAT when the file is damaged, ETX_ERR_ARGUMENT when it is
 * of another training; the trainer is then as it was. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_load_checkpoint(
    etx_trainer *trainer, const char *path);

/* A hash of parameters, moments, thresholds and step: trainings that go the
 * same way have the same one. NULL is 0. */
ETX_API uint64_t etx_trainer_hash(const etx_trainer *trainer);

/* The model as trained so far; the caller frees it. */
ETX_API ETX_MUST_CHECK etx_status etx_trainer_model(
    etx_model **out, const etx_trainer *trainer);

/* Release it; NULL is fine. */
ETX_API void etx_trainer_free(etx_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
