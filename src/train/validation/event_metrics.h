/* train/validation/event_metrics.h -- the events of a validation, shared out
 * among the ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_VALIDATION_EVENT_METRICS_H
#define ETX_TRAIN_VALIDATION_EVENT_METRICS_H

#include "train/objective/edge_loss.h"
#include "train/objective/momentum_loss.h"
#include "train/trainer.h"

/* Edges kept and, of them, neighbours and signal neighbours. */
struct etx_edge_counts {
    double n, n_true, n_signal;
    double is_beyond; /* 1: there are too many to count */
};

/* What a validation knows of one event: doubles alone, zeros until its rank
 * has been told, so that ranks add them up without a rounding. */
struct etx_finding {
    double n_signal_pairs;
    struct etx_edge_totals totals;
    struct etx_pt_totals momenta;
    struct etx_edge_counts counts;
};

/* The events of a validation and which rank runs them; in scratch. */
struct etx_survey {
    struct etx_trainer *trainer;
    int64_t n;
    int32_t *owner;              /* [n] */
    struct etx_finding *finding; /* [n] */
};

/* Deal the trainer's validation events to the ranks, in scratch. */
etx_status etx_survey_begin(
    struct etx_survey *survey, struct etx_trainer *trainer);

/* Whether this rank runs event i. */
int32_t etx_survey_is_mine(const struct etx_survey *survey, int64_t i);

/* Call before event i, whoever runs it, so that no rank waits longer than one
 * event takes. *met, 0 before the first: the first event since ranks met. */
etx_status etx_survey_meet(
    const struct etx_survey *survey, int64_t i, int64_t *met);

/* Afterwards every rank has the findings of all. */
etx_status etx_survey_share(const struct etx_survey *survey);

/* Of all events, after etx_survey_share. */
double etx_survey_signal_pairs(const struct etx_survey *survey);

/* The efficiency that the config wants, or the default. */
double etx_survey_target(const struct etx_trainer *trainer);

/* What a validation says of each kind of stage; the model gets its radius or
 * its cut where the config asks for an efficiency. */
etx_status etx_validate_embedding(
    struct etx_train_result *result, const struct etx_survey *survey);
etx_status etx_validate_edges(
    struct etx_train_result *result, const struct etx_survey *survey);

#endif
