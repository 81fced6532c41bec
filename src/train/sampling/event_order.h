/* train/sampling/event_order.h -- which events a step sees.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_EVENT_ORDER_H
#define ETX_TRAIN_SAMPLING_EVENT_ORDER_H

#include "base/random.h"
#include "memory/arena.h"
#include "train/sampling/event.h"

/* The training events and how they are drawn. */
struct etx_event_order {
    const struct etx_train_events *events;
    const struct etx_train_config *config;
    uint64_t seed; /* etx_train_seed */
    struct etx_arena *arena;
};

/* Steps that see every event once. */
int64_t etx_train_steps_per_epoch(const struct etx_train_events *events,
    const struct etx_train_config *config);

/* The events of step (from 1), in scratch: *event [*n]; random is
 * etx_random_of_graph(seed, step, stage, 0). */
etx_status etx_train_draw_events(struct etx_train_event ***event, int32_t *n,
    const struct etx_event_order *order, int64_t step,
    struct etx_random *random);

#endif
