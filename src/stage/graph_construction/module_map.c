/* stage/graph_construction/module_map.c -- the table of a module map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/graph_construction/module_map.h"

#include "base/check.h"
#include "base/status.h"
#include "op/shared/module_map.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#define FIELD(name) offsetof(struct etx_module_map, name)

const struct etx_table_kind etx_module_map_kind = {"module map",
    sizeof(struct etx_module_map), 5,
    {{"module_map.units", 0, ETX_MAP_UNIT_WIDTH, FIELD(unit), FIELD(n_units)},
        {"module_map.pairs", 0, 2, FIELD(pair), FIELD(n_pairs)},
        {"module_map.pair_windows", 1, 2 * (int64_t)ETX_MAP_N_DOUBLET,
            FIELD(pair_window), FIELD(n_pairs)},
        {"module_map.triplets", 0, 2, FIELD(triplet), FIELD(n_triplets)},
        {"module_map.triplet_windows", 1, 2 * (int64_t)ETX_MAP_N_TRIPLET,
            FIELD(triplet_window), FIELD(n_triplets)}}};

int32_t etx_module_map_unit(const struct etx_module_map *map, int32_t volume_id,
    int32_t layer_id, int32_t module_id)
{
    return etx_map_unit_of(
        map->unit, map->n_units, volume_id, layer_id, module_id);
}

int64_t etx_module_map_find(
    const int64_t *pairs, int64_t n, int64_t first, int64_t second)
{
    const int64_t key[2] = {first, second};

    return etx_map_find_row(pairs, n, key, 2);
}

/* ---------------------------------------------------------------- check -- */

static etx_status check_units(const struct etx_module_map *map)
{
    for (int64_t k = 0; k < map->n_units; k++) {
        const int64_t *const unit = map->unit + k * ETX_MAP_UNIT_WIDTH;

        if ((unit[2] < 0) != (map->unit[2] < 0) || unit[2] < -1 ||
            (k > 0 && etx_map_compare(unit - ETX_MAP_UNIT_WIDTH, unit,
                          ETX_MAP_UNIT_WIDTH) >= 0))
            return etx_fail(ETX_ERR_FORMAT,
                "module map: unit %" PRId64 " is (%" PRId64 ", %" PRId64
                ", %" PRId64 "), expected modules or layers, ascending",
                k, unit[0], unit[1], unit[2]);
    }
    return ETX_OK;
}

/* Rows of pairs [n, 2] of `below` things, ascending. */
static etx_status check_pairs(
    const char *what, const int64_t *pairs, int64_t n, int64_t below)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t *const pair = pairs + 2 * k;

        if (pair[0] < 0 || pair[0] >= below || pair[1] < 0 ||
            pair[1] >= below ||
            (k > 0 && etx_map_compare(pair - 2, pair, 2) >= 0))
            return etx_fail(ETX_ERR_FORMAT,
                "module map: %s %" PRId64 " is (%" PRId64 ", %" PRId64
                "), expected two of %" PRId64 ", ascending",
                what, k, pair[0], pair[1], below);
    }
    return ETX_OK;
}

static etx_status check_windows(
    const char *what, const struct etx_map_window *window, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(window[k].low) || !isfinite(window[k].high) ||
            window[k].low > window[k].high)
            return etx_fail(ETX_ERR_FORMAT,
                "module map: %s window %" PRId64
                " is %.9g to %.9g, expected finite numbers, ascending",
                what, k, (double)window[k].low, (double)window[k].high);
    return ETX_OK;
}

etx_status etx_module_map_check(const struct etx_module_map *map)
{
    etx_status status;

    if (map->n_units > INT32_MAX || map->n_pairs > INT32_MAX)
        return etx_fail(ETX_ERR_LIMIT,
            "module map: %" PRId64 " units and %" PRId64
            " pairs, at most 2^31 - 1 are possible",
            map->n_units, map->n_pairs);
    ETX_CHECK(check_units(map));
    ETX_CHECK(check_pairs("pair", map->pair, map->n_pairs, map->n_units));
    ETX_CHECK(check_windows(
        "pair", map->pair_window, map->n_pairs * ETX_MAP_N_DOUBLET));
    ETX_CHECK(
        check_pairs("triplet", map->triplet, map->n_triplets, map->n_pairs));
    ETX_CHECK(check_windows(
        "triplet", map->triplet_window, map->n_triplets * ETX_MAP_N_TRIPLET));
done:
    return status;
}
