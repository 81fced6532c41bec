/* train/sampling/embedding_pairs.h -- pairs of hits of a metric-learning step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_EMBEDDING_PAIRS_H
#define ETX_TRAIN_SAMPLING_EMBEDDING_PAIRS_H

#include "train/sampling/sector.h"

/* Pairs of a sector, in scratch. */
struct etx_embedding_pairs {
    int64_t n, n_positive, n_negative;
    double positive_weight; /* sum of the weights of the positive ones */
    int32_t *a, *b;         /* [n] hits of the sector */
    uint8_t *target;        /* [n] */
    float *weight;          /* [n] */
};

/* What pairs are chosen from. */
struct etx_pair_source {
    struct etx_stream *stream; /* of the host */
    const struct etx_train_config *config;
    const struct etx_truth *truth;
    const struct etx_sector *sector;
    int32_t n_dim;
    const float *point; /* [sector->n_hits, n_dim] on the host */
};

/* True pairs of the sector, pairs of points close to each other, and random
 * ones, as the config says. */
etx_status etx_embedding_pairs_choose(struct etx_embedding_pairs *out,
    const struct etx_pair_source *source, struct etx_random *random);

#endif
