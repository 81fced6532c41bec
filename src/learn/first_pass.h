/* learn/first_pass.h -- learn the first pass from true tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_FIRST_PASS_H
#define ETX_LEARN_FIRST_PASS_H

#include "data/event.h"
#include "stage/first_pass/first_pass_table.h"

/* The table of n_events events with truth and modules, for the layers of
 * completion. ETX_ERR_ARGUMENT for an event without, and when no track comes
 * from the beam line. */
etx_status etx_first_pass_learn(struct etx_first_pass **out,
    const struct etx_completion *completion,
    const struct etx_event *const *events, int64_t n_events);

#endif
