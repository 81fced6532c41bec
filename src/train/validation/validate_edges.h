/* train/validation/validate_edges.h -- validation of edge scores: loss, area
 * under the ROC curve, and the cut that keeps the wanted efficiency.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_VALIDATION_VALIDATE_EDGES_H
#define ETX_TRAIN_VALIDATION_VALIDATE_EDGES_H

#include "train/validation/event_metrics.h"

/* The model gets the cut where the config has a target efficiency. */
etx_status etx_validate_edges(
    struct etx_train_result *result, const struct etx_validation *validation);

#endif
