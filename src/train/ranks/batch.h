/* train/ranks/batch.h -- the graphs of one step and which ranks compute them.
 *
 * The graphs follow from seed and step alone, and each has random numbers of
 * its own: a graph is the same on whatever rank it is made. What the loss is
 * divided by is a sum over all graphs that is known before the backward, so
 * gradients need no scaling afterwards, and any number of ranks divides by the
 * same.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_BATCH_H
#define ETX_TRAIN_RANKS_BATCH_H

#include "base/random.h"
#include "train/ranks/loss_sums.h"
#include "train/ranks/team.h"
#include "train/sampling/event.h"

/* Arrays in scratch of the host. */
struct etx_batch {
    const etx_team *team;
    const struct etx_train_config *config;
    uint64_t seed; /* etx_train_seed */
    int64_t step;
    int32_t n_graphs;
    struct etx_train_event **event; /* [n_graphs] */
    struct etx_random random;       /* of graph 0, after the events' draw */
    int32_t *owner;                 /* [n_graphs] ranks */
    struct etx_loss_sums *sums;     /* [n_graphs] */
    double *loss;          /* [n_graphs] their terms of the step's loss */
    double graphs_seconds; /* of this rank, as in the report */
    double network_seconds;
};

/* Assign the events to ranks and clear the sums; the fields up to random are
 * set. */
etx_status etx_batch_begin(struct etx_batch *batch, struct etx_arena *arena);

/* Whether this rank computes graph k. */
int32_t etx_batch_is_mine(const struct etx_batch *batch, int32_t k);
/* The draws of graph k. */
struct etx_random etx_batch_random(const struct etx_batch *batch, int32_t k);

/* sums, or loss, of the graphs of all ranks. */
etx_status etx_batch_share_sums(struct etx_batch *batch);
etx_status etx_batch_share_losses(struct etx_batch *batch);

/* loss, n_edges, imbalance, loss_spread and the seconds of the report, after
 * etx_batch_share_losses. */
void etx_batch_report(
    const struct etx_batch *batch, etx_training_report *report);

#endif
