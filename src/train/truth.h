/* train/truth.h -- which pairs of hits follow each other on a particle.
 *
 * The hits of a particle, ordered by their distance from where it was made,
 * form a chain; neighbours on the chain are the true pairs (REFERENCE: Exa.TrkX
 * track edges without module merging).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRUTH_H
#define ETX_TRAIN_TRUTH_H

#include "data/event.h"
#include "train/config.h"

/* What a pair of hits is. */
enum etx_pair {
    ETX_PAIR_FALSE,  /* different particles, or noise */
    ETX_PAIR_LOW_PT, /* neighbours of a particle that is not signal */
    ETX_PAIR_SIGNAL, /* neighbours of a signal particle */
    ETX_PAIR_SAME    /* the same particle, no neighbours */
};

struct etx_truth {
    int64_t n_hits;
    int64_t n_pairs;        /* true pairs */
    int64_t n_signal_pairs; /* of them above the pT threshold */
    const int32_t *particle; /* [n_hits] the event's particle_row */
    int32_t *next;           /* [n_hits] neighbour on the chain, -1 = none */
    uint8_t *is_signal;      /* [n_hits] the hit's particle is signal */
};

/* ETX_ERR_ARGUMENT for an event without truth. */
etx_status etx_truth_build(struct etx_truth *out,
    const struct etx_event *event, float min_pt);
void etx_truth_clear(struct etx_truth *truth);

/* enum etx_pair of hits a and b. */
int32_t etx_truth_pair(const struct etx_truth *truth, int32_t a, int32_t b);

/* Target and weight of a pair in the loss of an edge network. */
void etx_truth_label(float *target, float *weight, int32_t pair,
    const struct etx_train_truth *options);

#endif
