/* train/schedule.h -- the learning rate of every step.
 *
 * A warm-up in steps rises with every step, one in epochs with every epoch
 * (Exa.TrkX); decay begins where the warm-up ends.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SCHEDULE_H
#define ETX_TRAIN_SCHEDULE_H

#include "train/config.h"

/* Of step (1 for the first) when an epoch has steps_per_epoch. */
float etx_train_learning_rate(const struct etx_train_schedule *schedule,
    int64_t step, int64_t steps_per_epoch);

#endif
