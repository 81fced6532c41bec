/* train/export.h -- the model that a training made, with its provenance.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_EXPORT_H
#define ETX_TRAIN_EXPORT_H

#include "train/trainer.h"

/* A copy of the model with its thresholds and provenance. */
etx_status etx_trainer_export(
    struct etx_model **out, const struct etx_trainer *trainer);

/* As etx_trainer_hash. */
uint64_t etx_trainer_hash_state(const struct etx_trainer *trainer);

#endif
