/* train/validation/validate_embedding.h -- the radius that keeps the wanted
 * efficiency, and efficiency and purity of the graph at that radius.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_VALIDATION_VALIDATE_EMBEDDING_H
#define ETX_TRAIN_VALIDATION_VALIDATE_EMBEDDING_H

#include "train/validation/event_metrics.h"

/* The model gets the radius where the config has a target efficiency. */
etx_status etx_validate_embedding(
    struct etx_train_result *result, const struct etx_validation *validation);

#endif
