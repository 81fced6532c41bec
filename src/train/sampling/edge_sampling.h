/* train/sampling/edge_sampling.h -- the edges of a wedge that take part in a
 * step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_EDGE_SAMPLING_H
#define ETX_TRAIN_SAMPLING_EDGE_SAMPLING_H

#include "train/trainer.h"

/* Edges of a step with their labels, in scratch. */
struct etx_step_edges {
    int64_t n;
    int32_t *id;   /* [n] edges of the event's graph, ascending */
    float *target; /* [n] */
    float *weight; /* [n] */
};

/* Target and weight of an edge of graph in the loss: those of the truth; of a
 * cascade what the filter says of it, whose scores the graph has, and 1. */
void etx_step_edge_label(float *target, float *weight,
    const struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_graph *graph, int64_t edge);

/* The edges of graph inside the sample: all of them for a graph network; for
 * a filter a share of the true, of the hard false and of the easy false ones,
 * as sampling.false_per_true, edges and hard_share ask. */
etx_status etx_step_edges_choose(struct etx_step_edges *out,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_sample *sample, const struct etx_graph *graph,
    struct etx_random *random);

#endif
