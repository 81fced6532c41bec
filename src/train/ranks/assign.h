/* train/ranks/assign.h -- which rank computes which event.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_ASSIGN_H
#define ETX_TRAIN_RANKS_ASSIGN_H

#include <exatrkx/train.h>

#include "memory/arena.h"
#include "train/sampling/event.h"

/* owner [n], in scratch: the rank of each of these events [n], the same on
 * every rank. An event that one rank alone has is that rank's. */
etx_status etx_team_assign(int32_t **owner, const etx_team *team,
    struct etx_arena *arena, struct etx_train_event *const *event, int64_t n);

#endif
