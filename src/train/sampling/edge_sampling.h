/* train/sampling/edge_sampling.h -- the edges of a sector in a training step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_EDGE_SAMPLING_H
#define ETX_TRAIN_SAMPLING_EDGE_SAMPLING_H

#include "arch/arch.h"
#include "train/sampling/sector.h"

/* Edges with their labels, in scratch. */
struct etx_step_edges {
    int64_t n;
    int32_t *id;   /* [n] edges of the event's graph, ascending */
    float *target; /* [n] */
    float *weight; /* [n] */
};

/* What edges are labelled and chosen with. */
struct etx_edge_sampler {
    struct etx_context *context;
    const struct etx_train_config *config;
    const struct etx_network *network; /* where the context computes */
};

/* Allocate and fill target and weight of the edges id of graph, or, where id is
 * NULL, of all n, from the truth. */
etx_status etx_step_edges_label(struct etx_step_edges *edges,
    const struct etx_edge_sampler *sampler, const struct etx_truth *truth,
    const struct etx_graph *graph);

/* The edges of graph inside the sector: all of them for a graph network; for
 * a filter random ones of the true, of the hard false and of the easy false
 * ones, as sampling.false_per_true, edges and hard_share say. */
etx_status etx_step_edges_choose(struct etx_step_edges *out,
    const struct etx_edge_sampler *sampler, const struct etx_truth *truth,
    const struct etx_sector *sector, const struct etx_graph *graph,
    struct etx_random *random);

#endif
