/* train/objective/embedding_objective.h -- metric learning on pairs of hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_OBJECTIVE_EMBEDDING_OBJECTIVE_H
#define ETX_TRAIN_OBJECTIVE_EMBEDDING_OBJECTIVE_H

#include "train/objective/objective.h"

extern const struct etx_objective etx_embedding_objective;

#endif
