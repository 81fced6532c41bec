/* train/ranks/gradient.h -- the gradient of a step as a sum over its graphs.
 *
 * Each graph's gradient is a slice of its own; slices are added by a balanced
 * tree over the graphs of the step, so that the sum has the same bits wherever
 * the slices were made.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RANKS_GRADIENT_H
#define ETX_TRAIN_RANKS_GRADIENT_H

#include "train/trainer.h"

#define ETX_SLICE_LEVELS 15 /* 2^14 > the 10^4 graphs of a step */

/* Under construction; everything in scratch. */
struct etx_slices {
    struct etx_trainer *trainer;
    struct etx_context *where; /* the context, or its host */
    int64_t n_graphs;
    const int32_t *owner; /* [n_graphs] */
    float **kept;         /* [n_graphs] of a team: those of this rank */
    float *level[ETX_SLICE_LEVELS]; /* alone: sums of 2^level graphs */
    int32_t is_full[ETX_SLICE_LEVELS];
    float *spare[ETX_SLICE_LEVELS];
    int32_t n_spare;
    float *open; /* the slice to add to, or NULL */
};

etx_status etx_slices_begin(struct etx_slices *slices,
    struct etx_trainer *trainer, int64_t n_graphs, const int32_t *owner);

/* *out [n_values]: where graph k, of this rank, adds its gradient: of a team on
 * the host, alone where the context computes. Called in the order of the
 * graphs. */
etx_status etx_slices_open(float **out, struct etx_slices *slices, int64_t k);

/* That gradient is complete. */
etx_status etx_slices_close(struct etx_slices *slices);

/* trainer->gradient = the sum over the graphs of all ranks. */
etx_status etx_slices_finish(struct etx_slices *slices);

/* As etx_gradient_sum. */
void etx_slices_sum(float *const *slice, int64_t n_slices, int64_t n_values);

#endif
