/* stage/graph_construction/module_map.h -- which hits may be joined, by the
 * modules or layers that they are on.
 *
 * A map lists the pairs of units (modules, or whole layers) that true tracks
 * cross after each other, with the least and the greatest values that their
 * hits had. With triplets, an edge also needs one before or behind it that
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

#define ETX_MAP_UNIT_WIDTH 3 /* volume, layer, module; -1: a whole layer */

/* Quantities of a doublet (a, b) of hits, a nearer to the origin. Those with
 * division are 0 where dr is. */
enum {
    ETX_MAP_Z0,        /* z_a - r_a dz / dr, mm */
    ETX_MAP_DPHI,      /* phi_b - phi_a, rad, within -pi and pi */
    ETX_MAP_PHI_SLOPE, /* dphi / dr, rad / mm */
    ETX_MAP_DETA,      /* eta_b - eta_a */
    ETX_MAP_N_DOUBLET
};

/* Quantities of a triplet: by how much the second doublet turns against the
 * first, rad within -pi and pi. */
enum {
    ETX_MAP_TURN, /* of atan2(dy, dx): in the transverse plane */
    ETX_MAP_BEND, /* of atan2(dz, dr) */
    ETX_MAP_N_TRIPLET
};

struct etx_map_window {
    float low, high; /* both allowed */
};

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
};

/* What the quantities are computed from. */
struct etx_map_hit {
    float x, y, z, r, phi, eta;
    float distance; /* from the origin, squared */
    int32_t row;    /* of the event */
};

/* A direction of a doublet. */
struct etx_map_direction {
    float transverse, longitudinal; /* the angles of TURN and BEND */
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

/* module_map_hit.c */
struct etx_map_hit etx_map_hit_of(const struct etx_event *event, int64_t row);
/* 1: a doublet goes from a to b, outward; of equal distances by row. */
int32_t etx_map_is_outward(
    const struct etx_map_hit *a, const struct etx_map_hit *b);
void etx_map_doublet(float value[ETX_MAP_N_DOUBLET],
    const struct etx_map_hit *a, const struct etx_map_hit *b);
struct etx_map_direction etx_map_direction_of(
    const struct etx_map_hit *a, const struct etx_map_hit *b);
void etx_map_triplet(float value[ETX_MAP_N_TRIPLET],
    const struct etx_map_direction *first,
    const struct etx_map_direction *second);

/* build_map.c: the edges that map allows, outward, on the host of context.
 * ETX_ERR_ARGUMENT for an event without modules, ETX_ERR_LIMIT above max_edges
 * or the bounds of a radius graph. */
etx_status etx_module_map_build(struct etx_graph **out,
    struct etx_context *context, const struct etx_module_map *map,
    const struct etx_event *event, int64_t max_edges);

#endif
