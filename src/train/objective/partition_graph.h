/* train/objective/partition_graph.h -- one partition of the graph of a step or
 * of a validation.
 *
 * Every partition draws the same sector and knows the targets of all its edges,
 * so all divide the loss by the same sum of weights. An edge that crosses
 * partitions is in both of them; it has its weight in the partition of its
 * destination, which owns it, and 0 in the other. So its loss counts once, and
 * the gradients, summed over the partitions, equal the whole graph's
 * (arch/halo.c).
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
    int32_t *owner; /* [nodes of the whole graph] the partition of each */
    struct etx_graph_part *part;
    struct etx_graph *copy; /* owned, of part->graph on a device; or NULL */
    struct etx_graph graph; /* part->graph, or its copy, with the halo */
    struct etx_halo halo;
    struct etx_network_input input; /* in the memory of the context */
    int64_t n_edges;                /* of graph */
};

/* Partition a whole graph in the memory of the host, with n_features node
 * features. Close it also after an error. */
etx_status etx_partition_graph_open(struct etx_partition_graph *out,
    struct etx_context *context, const struct etx_train_partition *partition,
    const struct etx_network_input *whole, int32_t n_features);
void etx_partition_graph_close(struct etx_partition_graph *graph);

/* *target, *weight [n_edges] in scratch of the host: the rows of this partition
 * from whole_target, whole_weight [edges of the whole graph]; weight 0 for
 * edges that another partition owns. */
etx_status etx_partition_graph_targets(float **target, float **weight,
    const struct etx_partition_graph *graph, const float *whole_target,
    const float *whole_weight);

/* logit [n_edges of the whole graph], computed by all partitions. */
etx_status etx_partition_graph_logits(float *logit, struct etx_context *context,
    const struct etx_train_partition *partition,
    const struct etx_network *network, const struct etx_network_input *whole);

#endif
