/* train/ranks/partition.h -- collective operations of the trainers that compute
 * the partitions of every graph together.
 *
 * All are made of one all-to-all, the caller's etx_part_exchange. With n_parts
 * 0, a trainer of whole graphs, there is nothing to do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_PARTITION_H
#define ETX_TRAIN_RANKS_PARTITION_H

#include <exatrkx/graph.h>

#include "memory/arena.h"
#include "train/ranks/team.h"

/* The partition of every graph that this trainer computes. */
struct etx_train_partition {
    int32_t n_parts; /* 0: whole graphs */
    int32_t part, order;
    uint64_t hash; /* of config and start model */
    etx_part_exchange exchange;
    struct etx_arena *arena; /* scratch of the host */
};

/* received [sum of n] = mine [n[part]] of every partition, in their order; n
 * [n_parts]. */
etx_status etx_partition_gather(const struct etx_train_partition *partition,
    float *received, const int64_t *n, const float *mine);

/* values [n] become their sums over the partitions, added in their order. */
etx_status etx_partition_sum_floats(
    const struct etx_train_partition *partition, float *values, int64_t n);
etx_status etx_partition_sum_doubles(
    const struct etx_train_partition *partition, double *values, int64_t n);

/* ETX_ERR_FORMAT on all partitions unless all values of common [n] are the same
 * on all. */
etx_status etx_partition_agree(const struct etx_train_partition *partition,
    const struct etx_common *common, int32_t n);

/* A barrier at the end of a step or a validation, before anything is written
 * that lasts: a partition that failed after its last exchange would else be
 * noticed only at the next step. ETX_ERR_RANK, or the status of the
 * exchange, when one failed. */
etx_status etx_partition_barrier(const struct etx_train_partition *partition);

/* A step or a validation ended with status: tell the others of a failure. */
void etx_partition_end(
    const struct etx_train_partition *partition, etx_status status);

#endif
