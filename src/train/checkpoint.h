/* train/checkpoint.h -- write a training to a file and continue it bit for bit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_CHECKPOINT_H
#define ETX_TRAIN_CHECKPOINT_H

#include "train/trainer.h"

etx_status etx_checkpoint_write(
    const struct etx_trainer *trainer, const char *path);
/* On error the trainer is as before, but for an error of a device. */
etx_status etx_checkpoint_read(struct etx_trainer *trainer, const char *path);

#endif
