/* train/objective/edge_objective.h -- classification of edges: the filter and
 * graph networks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_OBJECTIVE_EDGE_OBJECTIVE_H
#define ETX_TRAIN_OBJECTIVE_EDGE_OBJECTIVE_H

#include "train/objective/objective.h"

extern const struct etx_objective etx_edge_objective;

#endif
