/* train/sampling/embedding_pairs.h -- the pairs of hits that a step of metric
 * learning sees.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_EMBEDDING_PAIRS_H
#define ETX_TRAIN_SAMPLING_EMBEDDING_PAIRS_H

#include "train/trainer.h"

/* Pairs of a wedge, in scratch. */
struct etx_pairs {
    int64_t n, n_positive, n_negative;
    double positive_weight; /* sum of the weights of the positive ones */
    int32_t *a, *b;         /* [n] places in the sample */
    uint8_t *target;        /* [n] */
    float *weight;          /* [n] */
};

/* True pairs of the wedge, pairs that are close in point [n_hits, n_dim], and
 * random ones, as the config says. */
etx_status etx_train_pairs(struct etx_pairs *out, struct etx_trainer *trainer,
    const struct etx_truth *truth, const struct etx_sample *sample,
    const float *point, struct etx_random *random);

#endif
