/* train/sampling/sector_input.h -- a sector as input of a network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_SECTOR_INPUT_H
#define ETX_TRAIN_SAMPLING_SECTOR_INPUT_H

#include "arch/arch.h"
#include "train/sampling/sector.h"

/* The input of the network for a sector with n_features node features, and a
 * graph of it, which may be NULL; *copy, NULL or to be freed, is a graph that
 * out borrows. */
etx_status etx_sector_input(struct etx_network_input *out,
    struct etx_graph **copy, struct etx_context *context,
    const struct etx_sector *sector, int32_t n_features,
    const struct etx_graph *graph);

#endif
