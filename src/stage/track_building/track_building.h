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

/* label [n_nodes], on the host: dense by smallest node, -1 = no track. graph is
 * scored and in the memory of the context. position [n_nodes, 3] in mm, on the
 * host, or NULL where the method needs none. */
etx_status etx_build_tracks(int32_t *label, const struct etx_graph *graph,
    struct etx_context *context, const float *position,
    const etx_label_options *options);

/* The methods: X(constant, name, needs_positions) is ETX_LABEL_<constant>,
 * `name` in model files, and the function etx_group_<name>. In ascending order.
 * By every method a chain of edges without branches is one track. */
#define ETX_LABEL_METHODS(X)                                                   \
    X(COMPONENTS, components, 0)                                               \
    X(MUTUAL_BEST, mutual_best, 0)                                             \
    X(WALKTHROUGH, walkthrough, 1)                                             \
    X(BEST_FIRST, best_first, 1)

/* group [n_nodes], in the memory of the context: for every node a node of its
 * group, the same for all members; a node without edges is a group of its own.
 * Only edges with a score above options->cut count; position is on the host. */
#define ETX_GROUP_PROTOTYPE(constant, name, needs_positions)                   \
    etx_status etx_group_##name(int32_t *group, struct etx_context *context,   \
        const struct etx_graph *graph, const float *position,                  \
        const etx_label_options *options);
ETX_LABEL_METHODS(ETX_GROUP_PROTOTYPE)

#define ETX_LABEL_METHOD_COUNT(constant, name, needs_positions) +1
enum { ETX_N_LABEL_METHODS = 0 ETX_LABEL_METHODS(ETX_LABEL_METHOD_COUNT) };

/* Their names by constant, NULL-terminated. */
extern const char *const etx_label_method_names[];

/* Does this method read positions? */
int32_t etx_label_method_needs_positions(int32_t method);

#endif
