/* data/crowds.h -- modules with far more hits than others of their layer.
 *
 * A module that is noisy has hits by the thousand. All pairs of them are
 * candidate edges and seeds, and the bounds on edges, which are of the whole
 * event, would leave the tracks elsewhere too few. So no stage that knows
 * modules looks at them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_CROWDS_H
#define ETX_DATA_CROWDS_H

#include "data/event.h"
#include "memory/arena.h"

#include <stdbool.h>

#define ETX_CROWD 50 /* hits on a module */
#define ETX_CROWD_FACTOR                                                       \
    10 /* times the mean of the other modules of its layer */
#define ETX_CROWD_OTHERS 4 /* of these, with hits */

/* Whether count of the n_hits of a layer are a crowd on their module, of
 * n_modules with hits. */
static inline bool etx_is_crowd(
    int64_t count, int64_t n_hits, int64_t n_modules)
{
    return count >= ETX_CROWD && n_modules > ETX_CROWD_OTHERS &&
           count * (n_modules - 1) > ETX_CROWD_FACTOR * (n_hits - count);
}

/* is_crowded [n_hits]: 1 for the hits of such modules of an event with modules.
 */
etx_status etx_event_find_crowds(uint8_t *is_crowded, struct etx_arena *arena,
    const struct etx_event *event);

#endif
