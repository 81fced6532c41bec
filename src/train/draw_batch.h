/* train/draw_batch.h -- the events of a step, assigned to ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_DRAW_BATCH_H
#define ETX_TRAIN_DRAW_BATCH_H

#include "train/ranks/batch.h"
#include "train/trainer.h"

/* At the first step of a team: ETX_ERR_FORMAT unless all ranks drew the same
 * and have the same learning rates. */
etx_status etx_trainer_draw_batch(
    struct etx_batch *batch, struct etx_trainer *trainer, int64_t step);

/* Start reading the graphs of the next step from disk; that step reports the
 * errors. */
void etx_trainer_prefetch(struct etx_trainer *trainer);

#endif
