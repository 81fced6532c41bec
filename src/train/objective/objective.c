/* train/objective/objective.c -- what each stage minimises.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/objective/objective.h"

#define OBJECTIVE(constant, name, objective, scores_edges)                     \
    &etx_##objective##_objective,

const struct etx_objective *const etx_objectives[ETX_N_TRAIN_STAGES] = {
    ETX_TRAIN_STAGES(OBJECTIVE)};
