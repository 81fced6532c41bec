/* train/sampling/augment_event.h -- an event as a worse detector sees it.
 *
 * Made when the event is added to a trainer: all stages then see the same
 * event, and true pairs reach over the hits that are gone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_AUGMENT_EVENT_H
#define ETX_TRAIN_SAMPLING_AUGMENT_EVENT_H

#include "base/random.h"
#include "data/event.h"
#include "train/config.h"

/* Whether options change events as they are added. */
int32_t etx_train_changes_events(const struct etx_train_augmentation *options);

/* *out is a copy of event without some hits, without cells or with modules
 * moved, as options say; the caller frees it. ETX_ERR_ARGUMENT for jitter
 * without modules, and where no hit is left. */
etx_status etx_augment_event(struct etx_event **out,
    const struct etx_event *event, struct etx_random *random,
    const struct etx_train_augmentation *options);

#endif
