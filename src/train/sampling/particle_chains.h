/* train/sampling/particle_chains.h -- the true pairs of an event, from chains
 * of hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_PARTICLE_CHAINS_H
#define ETX_TRAIN_SAMPLING_PARTICLE_CHAINS_H

#include "data/event.h"

/* Fill offset [n_hits + 1] and *partner [offset[n_hits]], from etx_alloc: the
 * hits that follow each hit by rule (enum etx_pair_rule), ascending, in
 * compressed sparse rows. offset is zero on entry. The event has truth, and
 * modules where the rule reads them. */
etx_status etx_chain_pairs(int64_t *offset, int32_t **partner,
    const struct etx_event *event, int32_t rule);

#endif
