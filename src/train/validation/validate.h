/* train/validation/validate.h -- how good the stage in training is, and where
 * it cuts.
 *
 * Efficiency counts the signal pairs of the events' truth, whatever stage lost
 * them; the threshold is relative to what reaches the stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_VALIDATION_VALIDATE_H
#define ETX_TRAIN_VALIDATION_VALIDATE_H

#include "train/trainer.h"
#include "train/validation/event_metrics.h"

/* One validation on all events: trainer->result and ->best, thresholds of the
 * model, and the report. */
etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report);

/* Of edge scores: loss, area under the ROC curve and, where the config has a
 * target efficiency, the cut that keeps it, which the model gets. */
etx_status etx_validate_edges(
    struct etx_train_result *result, const struct etx_validation *validation);

/* Of an embedding: efficiency and purity of the graph at the radius that keeps
 * the target efficiency where the config has one, which the model gets. */
etx_status etx_validate_embedding(
    struct etx_train_result *result, const struct etx_validation *validation);

#endif
