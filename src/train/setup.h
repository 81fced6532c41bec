/* train/setup.h -- create a trainer, set its events and ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SETUP_H
#define ETX_TRAIN_SETUP_H

#include "train/trainer.h"

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

#endif
