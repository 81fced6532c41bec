/* train/sampling/truth.h -- which pairs of hits belong together.
 *
 * The hits of a particle, ordered by their distance from where it was made,
 * form a chain. Which of its pairs are true is a choice (enum etx_pair_rule):
 * reference systems differ, and their models need their own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_TRUTH_H
#define ETX_TRAIN_SAMPLING_TRUTH_H

#include "data/event.h"
#include "train/config.h"

/* Kinds of pairs of hits. */
enum etx_pair {
    ETX_PAIR_FALSE,  /* different particles, or noise */
    ETX_PAIR_LOW_PT, /* true, of a particle that is not signal */
    ETX_PAIR_SIGNAL, /* true, of a signal particle */
    ETX_PAIR_SAME    /* the same particle, not true */
};

struct etx_truth {
    int64_t n_hits;
    int64_t n_pairs;         /* true pairs */
    int64_t n_signal_pairs;  /* of them, of signal particles */
    const int32_t *particle; /* [n_hits] the event's particle_row */
    const float *weight;     /* [n_hits] the event's hit weights, or NULL */
    float weight_scale;  /* their mean over the hits of particles becomes 1 */
    int64_t *offset;     /* [n_hits + 1] into partner */
    int32_t *partner;    /* [n_pairs] hits that follow one, ascending */
    uint8_t *is_signal;  /* [n_hits] the hit's particle is signal */
    float *pair_weight;  /* [n_hits] in the loss, of pairs that begin there */
    uint8_t *is_dropped; /* [n_hits] takes no part in training; or NULL */
};

/* ETX_ERR_ARGUMENT for an event that lacks truth, modules where the rule
 * needs them, or hit weights where needs_weight is not 0; ETX_ERR_LIMIT above
 * 1000 pairs per hit. */
etx_status etx_truth_build(struct etx_truth *out, const struct etx_event *event,
    const struct etx_train_truth *options, int32_t needs_weight);
void etx_truth_clear(struct etx_truth *truth);

/* enum etx_pair of hits a and b. */
int32_t etx_truth_pair(const struct etx_truth *truth, int32_t a, int32_t b);

/* Weight of a true pair in the loss; the order of a and b is irrelevant. */
float etx_truth_weight(const struct etx_truth *truth, int32_t a, int32_t b);

/* Target and weight of the edge from a to b in the loss of an edge network.
 * A hit_weight above 0 multiplies the weight of true edges by it and by the
 * mean of the two hits' weights, relative to the event's mean. */
void etx_truth_label(float *target, float *weight,
    const struct etx_truth *truth, int32_t a, int32_t b,
    const struct etx_train_config *config);

#endif
