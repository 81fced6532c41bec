/* op/shared/module_map.h -- the quantities of a module map and their windows,
 * and the edges that a map allows from one hit.
 *
 * Learning, the reference and CUDA compute them by the same functions: a value
 * that was learned lies in its window. In float64 from float32, rounded at the
 * end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_MODULE_MAP_H
#define ETX_OP_SHARED_MODULE_MAP_H

#include "base/constants.h"
#include "op/graph.h"
#include "op/shared/host_device.h"

#include <math.h>

#define ETX_MAP_SLACK 1e-5 /* rad, more than the rounding of azimuths */

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

/* An edge between sorted hits, by a pair of the map. */
struct etx_map_edge {
    int32_t src, dst;
    int32_t pair;
};

/* Hits on units of the map in order. */
struct etx_map_search {
    struct etx_map_table map;
    const struct etx_map_hit *hit; /* [hits] by unit, azimuth, row */
    const int32_t *unit;           /* [hits] */
    const int64_t *hit_first;      /* [n_units + 1] into hit, by unit */
};

/* ----------------------------------------------------------------- units -- */

/* Rows of integers in order: below, at or above 0. */
ETX_HOST_DEVICE int etx_map_compare(
    const int64_t *a, const int64_t *b, int32_t width)
{
    for (int32_t k = 0; k < width; k++)
        if (a[k] != b[k])
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

/* The row of key in rows [n, width], ascending; -1: none. */
ETX_HOST_DEVICE int64_t etx_map_find_row(
    const int64_t *rows, int64_t n, const int64_t *key, int32_t width)
{
    int64_t low = 0;
    int64_t high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (etx_map_compare(rows + middle * width, key, width) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && etx_map_compare(rows + low * width, key, width) == 0 ? low
                                                                           : -1;
}

/* The unit of a hit: a row of unit [n_units, 3]; -1 for one that the map
 * lacks. */
ETX_HOST_DEVICE int32_t etx_map_unit_of(const int64_t *unit, int64_t n_units,
    int32_t volume_id, int32_t layer_id, int32_t module_id)
{
    const int64_t key[ETX_MAP_UNIT_WIDTH] = {
        volume_id, layer_id, n_units > 0 && unit[2] < 0 ? -1 : module_id};

    return (int32_t)etx_map_find_row(unit, n_units, key, ETX_MAP_UNIT_WIDTH);
}

/* ------------------------------------------------------------ quantities -- */

ETX_HOST_DEVICE struct etx_map_hit etx_map_hit_of(
    const float *position, int64_t row)
{
    const float *const at = position + 3 * row;
    const double x = (double)at[0];
    const double y = (double)at[1];
    const double z = (double)at[2];
    const double r = sqrt(x * x + y * y);
    struct etx_map_hit hit;

    hit.x = at[0];
    hit.y = at[1];
    hit.z = at[2];
    hit.r = (float)r;
    hit.phi = (float)atan2(y, x);
    hit.eta = (float)asinh(z / fmax(r, 1e-6));
    hit.distance = (float)(x * x + y * y + z * z);
    hit.row = (int32_t)row;
    return hit;
}

ETX_HOST_DEVICE int32_t etx_map_is_outward(
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    return a->distance != b->distance ? a->distance < b->distance
                                      : a->row < b->row;
}

/* An angle between -2 pi and 2 pi, within -pi and pi. */
ETX_HOST_DEVICE double etx_map_wrap(double angle)
{
    if (angle > ETX_PI)
        return angle - 2.0 * ETX_PI;
    return angle < -ETX_PI ? angle + 2.0 * ETX_PI : angle;
}

ETX_HOST_DEVICE void etx_map_doublet(float value[ETX_MAP_N_DOUBLET],
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    const double dr = (double)b->r - (double)a->r;
    const double dz = (double)b->z - (double)a->z;
    const double dphi = etx_map_wrap((double)b->phi - (double)a->phi);

    value[ETX_MAP_Z0] =
        dr != 0.0 ? (float)((double)a->z - (double)a->r * dz / dr) : 0.0f;
    value[ETX_MAP_DPHI] = (float)dphi;
    value[ETX_MAP_PHI_SLOPE] = dr != 0.0 ? (float)(dphi / dr) : 0.0f;
    value[ETX_MAP_DETA] = b->eta - a->eta;
}

ETX_HOST_DEVICE struct etx_map_direction etx_map_direction_of(
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    struct etx_map_direction out;

    out.transverse =
        (float)atan2((double)b->y - (double)a->y, (double)b->x - (double)a->x);
    out.longitudinal =
        (float)atan2((double)b->z - (double)a->z, (double)b->r - (double)a->r);
    return out;
}

ETX_HOST_DEVICE void etx_map_triplet(float value[ETX_MAP_N_TRIPLET],
    const struct etx_map_direction *first,
    const struct etx_map_direction *second)
{
    value[ETX_MAP_TURN] = (float)etx_map_wrap(
        (double)second->transverse - (double)first->transverse);
    value[ETX_MAP_BEND] = (float)etx_map_wrap(
        (double)second->longitudinal - (double)first->longitudinal);
}

/* --------------------------------------------------------------- windows -- */

ETX_HOST_DEVICE int32_t etx_map_is_within(
    const struct etx_map_window *window, const float *value, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        if (value[k] < window[k].low || value[k] > window[k].high)
            return 0;
    return 1;
}

ETX_HOST_DEVICE int32_t etx_map_is_doublet(const struct etx_map_window *window,
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    float value[ETX_MAP_N_DOUBLET];
    const float deta = b->eta - a->eta;

    if (deta < window[ETX_MAP_DETA].low || deta > window[ETX_MAP_DETA].high ||
        !etx_map_is_outward(a, b))
        return 0; /* most of them, without a division */
    etx_map_doublet(value, a, b);
    return etx_map_is_within(window, value, ETX_MAP_N_DOUBLET);
}

/* -------------------------------------------------- the edges from a hit -- */

/* Where edges go: those from n to capacity are counted, not written. */
struct etx_map_edges {
    struct etx_map_edge *edge; /* [capacity] */
    int64_t capacity, n;
};

/* Edges from hit `src` by a pair to the hits begin .. end - 1. */
ETX_HOST_DEVICE void etx_map_join(struct etx_map_edges *out,
    const struct etx_map_search *search, struct etx_map_edge edge,
    int64_t begin, int64_t end)
{
    const struct etx_map_window *const window =
        search->map.pair_window + (int64_t)edge.pair * ETX_MAP_N_DOUBLET;

    for (int64_t k = begin; k < end; k++) {
        if (!etx_map_is_doublet(
                window, &search->hit[edge.src], &search->hit[k]))
            continue;
        edge.dst = (int32_t)k;
        if (out->n < out->capacity)
            out->edge[out->n] = edge;
        out->n++;
    }
}

/* The first of hits begin .. end - 1 from azimuth phi on. */
ETX_HOST_DEVICE int64_t etx_map_find_azimuth(
    const struct etx_map_hit *hit, int64_t begin, int64_t end, double phi)
{
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;

        if ((double)hit[middle].phi < phi)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The window in azimuth may lie across -pi and pi: it is moved by a turn. */
ETX_HOST_DEVICE void etx_map_search_pair(struct etx_map_edges *out,
    const struct etx_map_search *search, struct etx_map_edge edge)
{
    const struct etx_map_window *const dphi =
        search->map.pair_window + (int64_t)edge.pair * ETX_MAP_N_DOUBLET +
        ETX_MAP_DPHI;
    const int64_t unit = search->map.pair[2 * (int64_t)edge.pair + 1];
    const int64_t begin = search->hit_first[unit];
    const int64_t end = search->hit_first[unit + 1];
    const double phi = (double)search->hit[edge.src].phi;
    const double low = phi + (double)dphi->low - ETX_MAP_SLACK;
    const double high = phi + (double)dphi->high + ETX_MAP_SLACK;

    if (begin == end)
        return;
    if (high - low >= 2.0 * ETX_PI) {
        etx_map_join(out, search, edge, begin, end);
        return;
    }
    for (int32_t turn = -1; turn <= 1; turn++)
        etx_map_join(out, search, edge,
            etx_map_find_azimuth(
                search->hit, begin, end, low + turn * (2.0 * ETX_PI)),
            etx_map_find_azimuth(
                search->hit, begin, end, high + turn * (2.0 * ETX_PI)));
}

/* The edges from sorted hit k, by pair and end, are added to out. */
ETX_HOST_DEVICE void etx_map_edges_from(
    struct etx_map_edges *out, const struct etx_map_search *search, int64_t k)
{
    const int64_t *const first = search->map.pair_first + search->unit[k];

    for (int64_t p = first[0]; p < first[1]; p++) {
        const struct etx_map_edge edge = {(int32_t)k, 0, (int32_t)p};

        etx_map_search_pair(out, search, edge);
    }
}

/* The edges of a search, for their triplets. */
struct etx_map_chain {
    const struct etx_map_edge *edge; /* [edges] by source, pair */
    const int64_t *edge_first;       /* [hits + 1] into edge, by source */
    const struct etx_map_direction *direction; /* [edges] */
};

/* The next edge that begins where edge e ends and continues it, or -1. *next
 * and *triplet are where to go on; at first, edge_first of that hit and
 * triplet_first of the pair of e. */
ETX_HOST_DEVICE int64_t etx_map_next(const struct etx_map_table *map,
    const struct etx_map_chain *chain, int64_t e, int64_t *next,
    int64_t *triplet)
{
    const int64_t end = chain->edge_first[chain->edge[e].dst + 1];
    const int64_t last = map->triplet_first[chain->edge[e].pair + 1];
    float value[ETX_MAP_N_TRIPLET];

    while (*next < end && *triplet < last) {
        const int64_t n = *next;
        const int64_t t = *triplet;
        const int64_t wanted = map->triplet[2 * t + 1];

        if (chain->edge[n].pair > wanted) {
            ++*triplet;
            continue;
        }
        ++*next;
        if (chain->edge[n].pair < wanted)
            continue;
        etx_map_triplet(value, &chain->direction[e], &chain->direction[n]);
        if (etx_map_is_within(map->triplet_window + t * ETX_MAP_N_TRIPLET,
                value, ETX_MAP_N_TRIPLET))
            return n;
    }
    return -1;
}

#endif
