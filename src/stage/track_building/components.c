/* stage/track_building/components.c -- connected hits are a track.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/track_building.h"

etx_status etx_group_components(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    const struct etx_connected_components_args args = {
        .n_nodes = graph->n_nodes,
        .n_edges = graph->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .score = graph->score,
        .cut = options->cut,
        .label = group,
    };

    (void)position;
    return context->ops->connected_components(context->stream, &args);
}
