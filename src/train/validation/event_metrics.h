/* train/validation/event_metrics.h -- the events of a validation, their ranks
 * and their metrics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_VALIDATION_EVENT_METRICS_H
#define ETX_TRAIN_VALIDATION_EVENT_METRICS_H

#include "train/objective/edge_loss.h"
#include "train/objective/momentum_loss.h"
#include "train/trainer.h"
#include "train/validation/score_list.h"

/* Edges kept and, of them, neighbours and signal neighbours. */
struct etx_edge_counts {
    double n, n_true, n_signal;
    double is_beyond; /* 1: there are too many to count */
};

/* Of one event: doubles alone, zeros on all ranks but the event's, so that
 * ranks add them up without rounding. */
struct etx_event_metrics {
    double n_signal_pairs; /* as edges: twice with orientation both */
    struct etx_edge_totals totals;
    struct etx_pt_totals momenta;
    struct etx_edge_counts counts;
};

/* A validation in progress; arrays in scratch. */
struct etx_validation {
    struct etx_trainer *trainer;
    int64_t n;
    struct etx_train_event **event;    /* [n] */
    int32_t *owner;                    /* [n] ranks */
    struct etx_event_metrics *metrics; /* [n] */
};

/* Assign the trainer's validation events to the ranks. */
etx_status etx_validation_begin(
    struct etx_validation *validation, struct etx_trainer *trainer);

/* Whether this rank computes event i. */
int32_t etx_validation_is_mine(
    const struct etx_validation *validation, int64_t i);

/* Call before event i, whoever computes it: ranks synchronise, so that no rank
 * waits longer than one event takes. *last, 0 before the first: the first event
 * since they did. */
etx_status etx_validation_synchronise(
    const struct etx_validation *validation, int64_t i, int64_t *last);

/* Afterwards every rank has the metrics of all events. */
etx_status etx_validation_share(const struct etx_validation *validation);

/* The list becomes that of all ranks, sorted. */
etx_status etx_validation_gather(
    struct etx_score_list *list, const struct etx_validation *validation);

/* The sum over all events in their order, after etx_validation_share. */
struct etx_event_metrics etx_validation_sum(
    const struct etx_validation *validation);

/* The target efficiency of the config, or the default. */
double etx_validation_target(const struct etx_trainer *trainer);

#endif
