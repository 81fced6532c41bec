/* train/training_step.h -- one step of a training.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRAINING_STEP_H
#define ETX_TRAIN_TRAINING_STEP_H

#include "train/ranks/batch.h"
#include "train/trainer.h"

/* As etx_trainer_step. */
etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report);

/* Of a batch that has begun: trainer->state.gradient and batch->loss, over all
 * ranks and partitions. */
etx_status etx_trainer_gradient(
    struct etx_trainer *trainer, struct etx_batch *batch);

#endif
