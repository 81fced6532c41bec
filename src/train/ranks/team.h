/* train/ranks/team.h -- what a trainer does with the other ranks of its team;
 * alone it is rank 0 of 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_TEAM_H
#define ETX_TRAIN_RANKS_TEAM_H

#include "train/trainer.h"
#include "train/validation/score_list.h"

/* Copy a caller's team to out, its struct_size bytes of it, and check it. */
etx_status etx_team_read(etx_team *out, const etx_team *team);

/* Train with this team. ETX_ERR_ARGUMENT once a step was made or an event
 * belongs to a rank of the team so far. */
etx_status etx_team_join(struct etx_trainer *trainer, const etx_team *team);

/* values [n] become their sum over the ranks. */
etx_status etx_team_sum(
    const struct etx_trainer *trainer, double *values, int64_t n);

/* Fail on every rank with ETX_ERR_FORMAT unless value is the same on all. */
etx_status etx_team_agree(
    const struct etx_trainer *trainer, uint64_t value, const char *what);

/* The list becomes that of all ranks; their order is that of the ranks. */
etx_status etx_team_gather(
    const struct etx_trainer *trainer, struct etx_score_list *list);

/* owner [n], in scratch: which rank works on each of these events [n]. The
 * same on every rank. */
etx_status etx_team_deal(int32_t **owner, const struct etx_trainer *trainer,
    struct etx_train_event *const *event, int64_t n);

#endif
