/* stage/graph_construction/module_map.h -- which hits may be joined, by the
 * modules or layers that they are on.
 *
 * A map lists the pairs of units (modules, or whole layers) that true tracks
 * cross after each other, with the least and the greatest values that their
 * hits had. With triplets, an edge also needs one before or after it that
 * continues it as true tracks do.
 *
 * Biscarat et al., EPJ Web Conf. 251, 03047 (2021): maps of modules;
 * Farrell et al., arXiv:1810.06111: windows between layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_MODULE_MAP_H
#define ETX_STAGE_MODULE_MAP_H

#include "data/event.h"
#include "data/graph.h"
#include "data/learned_table.h"

/* Arrays are as in a model file; immutable and owned by its model. */
struct etx_module_map {
    const struct etx_table_kind *kind; /* etx_module_map_kind */
    int64_t n_units;
    int64_t *unit; /* [n_units, 3] ascending */
    int64_t n_pairs;
    int64_t *pair; /* [n_pairs, 2] units, inner first, ascending */
    struct etx_map_window *pair_window; /* [n_pairs, ETX_MAP_N_DOUBLET] */
    int64_t n_triplets;                 /* 0: pairs are enough */
    int64_t *triplet; /* [n_triplets, 2] pairs, ascending; the first ends where
                       * the second begins */
    struct etx_map_window *triplet_window; /* [n_triplets, ETX_MAP_N_TRIPLET] */
    uint64_t frozen_id; /* as that of a network; copies, which are equal, share
                         * it */
};

/* Arrays: units, pairs, windows of pairs, triplets, windows of triplets. */
extern const struct etx_table_kind etx_module_map_kind;

/* Check every number; ETX_ERR_FORMAT names what is wrong. */
etx_status etx_module_map_check(const struct etx_module_map *map);

/* The unit of a hit: a row of map->unit; -1 for one that the map lacks. */
int32_t etx_module_map_unit(const struct etx_module_map *map, int32_t volume_id,
    int32_t layer_id, int32_t module_id);
/* The row of (first, second) in pairs [n, 2], ascending; -1: none. */
int64_t etx_module_map_find(
    const int64_t *pairs, int64_t n, int64_t first, int64_t second);

#endif
