/* train/ranks/loss_sums.h -- what a loss is divided by.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_LOSS_SUMS_H
#define ETX_TRAIN_RANKS_LOSS_SUMS_H

/* Of one graph or of several; doubles alone, which ranks add up. */
struct etx_loss_sums {
    double n_true, n_false; /* edges with a weight above 0, or pairs */
    double weight;          /* of the edges; of the true pairs */
    double n;               /* edges or pairs, with weight or not */
};

#endif
