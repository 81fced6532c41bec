/* train/sampling/sector_input.c -- a sector as input of a network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/sector_input.h"

#include "base/check.h"
#include "stage/stage.h"

etx_status etx_sector_input(struct etx_network_input *out,
    struct etx_graph **copy, struct etx_context *context,
    const struct etx_sector *sector, int32_t n_features,
    const struct etx_graph *graph)
{
    const int64_t n = sector->n_hits;
    etx_status status;

    *copy = NULL;
    *out = (struct etx_network_input){.n_nodes = n};
    ETX_CHECK(etx_stage_to_device(&out->node_features, context,
        sector->features, n * n_features, "node features"));
    ETX_CHECK(etx_stage_to_device(
        &out->position, context, sector->position, 3 * n, "positions of hits"));
    if (graph != NULL)
        ETX_CHECK(etx_stage_graph_to_device(&out->graph, copy, context, graph));
done:
    return status;
}
