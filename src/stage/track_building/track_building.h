/* stage/track_building/track_building.h -- from scored edges to labelled hits.
 *
 * The last box of the pipeline. A method puts every node in a group; groups
 * of at least min_hits nodes become tracks. README.md states each method.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_BUILDING_H
#define ETX_STAGE_TRACK_BUILDING_H

#include "backend/backend.h"
#include "data/graph.h"

/* label [n_nodes], on the host: dense by smallest node, -1 = no track. graph
 * must be scored. position [n_nodes, 3] in mm; only the walkthrough and
 * best-first read it, NULL is fine for the other methods. options are checked
 * but for the method: an unknown method is ETX_ERR_ARGUMENT. Scratch goes back
 * to the arenas. The graph lies where the context computes, position on the
 * host. */
etx_status etx_build_tracks(int32_t *label, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options);

/* The methods, which run where the graph lies: group [n_nodes], there, gets for
 * every node a node of its group, the same for all members; a node that is
 * connected to none is a group of its own. Edges count when their score is
 * above options->cut; position is on the host. */
etx_status etx_group_components(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options);
etx_status etx_group_mutual_best(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options);
etx_status etx_group_walkthrough(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options);
etx_status etx_group_best_first(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options);

#endif
