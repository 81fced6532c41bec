/* train/report.h -- what is common to the reports of steps and validations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_REPORT_H
#define ETX_TRAIN_REPORT_H

#include "train/trainer.h"

/* A report of the trainer as it is, nan where nothing is measured yet. */
void etx_report_begin(
    etx_training_report *report, const struct etx_trainer *trainer);

/* Step, counters, norm of the weights and whether the training is finished. */
etx_status etx_report_finish(
    etx_training_report *report, const struct etx_trainer *trainer);

#endif
