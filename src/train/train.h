/* train/train.h -- what the interface calls of a training: create a trainer,
 * set its events and ranks; steps; checkpoints; the model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRAIN_H
#define ETX_TRAIN_TRAIN_H

#include "train/ranks/batch.h"
#include "train/trainer.h"

/* --------------------------------------------------------------- setup.c -- */

etx_status etx_trainer_open(struct etx_trainer **out,
    struct etx_context *context, const char *config,
    const struct etx_model *start);
void etx_trainer_close(struct etx_trainer *trainer);

/* event NULL: one of n_hits hits, which rank has. rank -1: all have it. */
etx_status etx_trainer_insert_event(struct etx_trainer *trainer,
    const struct etx_event *event, int64_t n_hits, int32_t rank,
    int32_t validation);

/* Keep graphs in this folder from now on. */
etx_status etx_trainer_open_cache(
    struct etx_trainer *trainer, const char *folder);

/* Train with this team. ETX_ERR_ARGUMENT once a step was made or an event
 * belongs to a rank of the current team. */
etx_status etx_trainer_join(struct etx_trainer *trainer, const etx_team *team);

/* See etx_trainer_set_parts; arguments are checked but for what the trainer
 * itself does not allow. */
etx_status etx_trainer_partition(
    struct etx_trainer *trainer, const struct etx_train_partition *partition);

/* ------------------------------------------------------- training_step.c -- */

/* As etx_trainer_step. */
etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report);

/* Of a batch that has begun: trainer->state.gradient and batch->loss, over all
 * ranks and partitions. */
etx_status etx_trainer_gradient(
    struct etx_trainer *trainer, struct etx_batch *batch);

/* ---------------------------------------------------------- checkpoint.c -- */

/* Write a training to a file, and continue it bit for bit. */
etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path);
/* On error the trainer is as before, but for an error of a device. */
etx_status etx_checkpoint_read(struct etx_trainer *trainer, const char *path);

/* -------------------------------------------------------------- export.c -- */

/* A copy of the model with its thresholds and provenance. */
etx_status etx_trainer_export(
    struct etx_model **out, const struct etx_trainer *trainer);

/* As etx_trainer_hash. */
uint64_t etx_trainer_hash_state(const struct etx_trainer *trainer);

#endif
