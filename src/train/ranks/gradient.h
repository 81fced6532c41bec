/* train/ranks/gradient.h -- the gradient of a step: a sum over graphs, ranks
 * and partitions.
 *
 *   per graph    a backward adds into zeros where the context computes
 *   over graphs  balanced tree over all graphs of the step, whichever ranks
 *                computed them: the same bits for any number of ranks
 *                (team.is_fast: in order on each rank, then over the ranks);
 *                each rank adds a range of the parameters, on devices that
 *                share their gradients all of them
 *   over parts   reduce-scatter and gather, in the order of the partitions
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_GRADIENT_H
#define ETX_TRAIN_RANKS_GRADIENT_H

#include "backend/backend.h"
#include "train/ranks/partition.h"
#include "train/ranks/team.h"

#define ETX_GRADIENT_LEVELS 15 /* 2^14 > the 10^4 graphs of a step */

/* A sum in progress; arrays in scratch. */
struct etx_gradient_sum {
    struct etx_context *context;
    const etx_team *team;
    const struct etx_train_partition *partition;
    int64_t n_values, n_graphs;
    const int32_t *owner; /* [n_graphs] ranks */
    float *current;       /* [n_values] of the open graph, for its backward */
    /* Alone, where the context computes: level[l] is the sum of 2^l graphs, or
     * NULL. Like the carries of a binary counter: an array per level of the
     * tree, not per graph. */
    float *level[ETX_GRADIENT_LEVELS];
    float *spare[ETX_GRADIENT_LEVELS]; /* [n_spare] arrays to reuse */
    int32_t n_spare;
    /* Of a team, on the host, or where the context computes if the ranks share
     * their gradients there. */
    float **graph; /* [n_graphs] gradients of this rank's graphs, else NULL */
    float *rank;   /* is_fast: the sum of these */
};

/* The fields up to owner are set. */
etx_status etx_gradient_begin(struct etx_gradient_sum *sum);

/* *out [n_values]: where the backward of graph k, of this rank, adds its
 * gradient. Called in the order of the graphs. */
etx_status etx_gradient_open(
    float **out, struct etx_gradient_sum *sum, int64_t k);
etx_status etx_gradient_close(struct etx_gradient_sum *sum, int64_t k);

/* gradient [n_values], an array of the context, becomes the sum over the
 * graphs of all ranks and over the partitions. */
etx_status etx_gradient_finish(float *gradient, struct etx_gradient_sum *sum);

/* slice[0] [n_values] becomes the sum of n_slices arrays, one per graph, as a
 * balanced tree; the others are overwritten: etx_gradient_sum (train.h). */
void etx_gradient_sum_tree(
    float *const *slice, int64_t n_slices, int64_t n_values);

#endif
