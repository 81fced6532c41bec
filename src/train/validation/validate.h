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

/* One validation on all events: trainer->result and ->best, thresholds of the
 * model, and the report. */
etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report);

#endif
