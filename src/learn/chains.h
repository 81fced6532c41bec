/* learn/chains.h -- the hits of true tracks, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_CHAINS_H
#define ETX_LEARN_CHAINS_H

#include "data/event.h"
#include "stage/helix/layer_table.h"

/* The hits of the particles of an event, from inside out. */
struct etx_true_chains {
    const struct etx_event *event;
    int32_t *layer; /* [n_hits] */
    int32_t *begin; /* [n_particles + 1] of the two below */
    int32_t *hit;   /* [n_hits] in that order */
    int32_t *back;  /* [n_hits] the same, every particle from its end */
};

/* ETX_ERR_ARGUMENT for an event without modules or truth; number is its. */
etx_status etx_true_chains_check(const struct etx_event *event, int64_t number);

/* chains is zeroed; free it also after a failure. */
etx_status etx_true_chains_make(struct etx_true_chains *chains,
    const struct etx_completion *table, const struct etx_event *event);
void etx_true_chains_free(struct etx_true_chains *chains);

#endif
