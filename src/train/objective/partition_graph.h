/* train/objective/partition_graph.h -- one partition of the graph of a step or
 * of a validation.
 *
 * Every partition draws the same sector and knows all of its edges' targets, so
 * the norm of the loss is that of the whole graph. An edge between partitions
 * has weight 0 where it only begins: its loss counts once, and as gradients are
 * linear in the weights, their sum over the partitions is that of the whole
 * graph (arch/halo.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_OBJECTIVE_PARTITION_GRAPH_H
#define ETX_TRAIN_OBJECTIVE_PARTITION_GRAPH_H

#include "arch/halo.h"
#include "train/ranks/partition.h"

/* A partition and the input of its network; arrays in scratch. Its addresses
 * are in use: not to be copied. */
struct etx_partition_graph {
    struct etx_context *context;
    const struct etx_train_partition *partition;
    int32_t *owner; /* [whole nodes] */
    struct etx_graph_part *part;
    struct etx_graph *copy; /* of the part's graph on a device, owned; NULL */
    struct etx_graph graph; /* of the part, with the halo */
    struct etx_halo halo;
    struct etx_network_input input; /* where the context computes */
    int64_t n_edges;
};

/* Of a graph of the host with n_features node features; to be closed after an
 * error, too. */
etx_status etx_partition_graph_open(struct etx_partition_graph *out,
    struct etx_context *context, const struct etx_train_partition *partition,
    const struct etx_network_input *whole, int32_t n_features);
void etx_partition_graph_close(struct etx_partition_graph *graph);

/* *target, *weight [n_edges], in scratch of the host, of those of the whole
 * graph. */
etx_status etx_partition_graph_targets(float **target, float **weight,
    const struct etx_partition_graph *graph, const float *whole_target,
    const float *whole_weight);

/* logit [n_edges of the whole graph], computed by all partitions. */
etx_status etx_partition_graph_logits(float *logit, struct etx_context *context,
    const struct etx_train_partition *partition,
    const struct etx_network *network, const struct etx_network_input *whole);

#endif
