/* learn/completion.h -- learn completion from true tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_COMPLETION_H
#define ETX_LEARN_COMPLETION_H

#include "data/event.h"
#include "stage/helix/layer_table.h"

/* The table of n_events events with truth and modules. ETX_ERR_ARGUMENT for an
 * event without, ETX_ERR_LIMIT for more than ETX_COMPLETION_MAX_LAYERS
 * layers. */
etx_status etx_completion_learn(struct etx_completion **out,
    const struct etx_event *const *events, int64_t n_events);

#endif
