/* train/ranks/team.h -- collective operations of the ranks of a team; a trainer
 * without one is rank 0 of 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_TEAM_H
#define ETX_TRAIN_RANKS_TEAM_H

#include <exatrkx/train.h>

#include "backend/backend.h"
#include "memory/arena.h"

/* Copy a caller's team to out, its struct_size bytes of it, and check it. */
etx_status etx_team_read(etx_team *out, const etx_team *team);

/* values [n] become their sum over the ranks. */
etx_status etx_team_sum(const etx_team *team, double *values, int64_t n);

/* What ranks must have in common: a number, and what the message calls it. */
struct etx_common {
    uint64_t value;
    const char *what;
};

/* What ranks share whatever they compute: the library, how they compute, and
 * what (a hash of it, and its name). */
#define ETX_N_COMMON 3
void etx_common_begin(struct etx_common out[ETX_N_COMMON],
    struct etx_context *context, uint64_t hash, const char *what);

/* Fail on every rank with ETX_ERR_FORMAT unless all values of common [n] are
 * the same on all. */
etx_status etx_team_agree(const etx_team *team, struct etx_arena *arena,
    const struct etx_common *common, int32_t n);

/* count [n_ranks], in scratch: n_mine of every rank. */
etx_status etx_team_count(int64_t **count, const etx_team *team,
    struct etx_arena *arena, int64_t n_mine);

#endif
