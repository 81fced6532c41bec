/* io/module_map_tensors.c -- the module map of a model as tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/module_map_tensors.h"

#include "base/check.h"
#include "io/table_tensors.h"

#include <inttypes.h>
#include <string.h>

enum { UNITS, PAIRS, PAIR_WINDOWS, TRIPLETS, TRIPLET_WINDOWS };

static const struct etx_table_tensor known[ETX_MODULE_MAP_N_TENSORS] = {
    [UNITS] = {"module_map.units", ETX_TENSOR_I64, ETX_MAP_UNIT_WIDTH},
    [PAIRS] = {"module_map.pairs", ETX_TENSOR_I64, 2},
    [PAIR_WINDOWS] = {"module_map.pair_windows", ETX_TENSOR_F32,
        2 * (int64_t)ETX_MAP_N_DOUBLET},
    [TRIPLETS] = {"module_map.triplets", ETX_TENSOR_I64, 2},
    [TRIPLET_WINDOWS] = {"module_map.triplet_windows", ETX_TENSOR_F32,
        2 * (int64_t)ETX_MAP_N_TRIPLET},
};

void etx_module_map_tensors(struct etx_tensor out[ETX_MODULE_MAP_N_TENSORS],
    const struct etx_module_map *map)
{
    const int64_t n = map->n_pairs;

    out[UNITS] = etx_table_describe(&known[UNITS], map->n_units, map->unit);
    out[PAIRS] = etx_table_describe(&known[PAIRS], n, map->pair);
    out[PAIR_WINDOWS] =
        etx_table_describe(&known[PAIR_WINDOWS], n, map->pair_window);
    out[TRIPLETS] =
        etx_table_describe(&known[TRIPLETS], map->n_triplets, map->triplet);
    out[TRIPLET_WINDOWS] = etx_table_describe(
        &known[TRIPLET_WINDOWS], map->n_triplets, map->triplet_window);
}

int32_t etx_module_map_has_tensor(const char *name)
{
    return etx_table_has(known, ETX_MODULE_MAP_N_TENSORS, name);
}

static etx_status check_rows(
    const struct etx_tensor *table, const struct etx_tensor *windows)
{
    if (table->dim[0] != windows->dim[0])
        return etx_fail(ETX_ERR_FORMAT,
            "tensors %s and %s have %" PRId64 " and %" PRId64
            " rows, expected as many",
            table->name, windows->name, table->dim[0], windows->dim[0]);
    return ETX_OK;
}

etx_status etx_module_map_from_tensors(
    struct etx_module_map **out, const struct etx_tensor_file *file)
{
    const struct etx_tensor *found[ETX_MODULE_MAP_N_TENSORS];
    struct etx_module_map *made = NULL;
    etx_status status;

    ETX_CHECK(etx_table_find(found, known, ETX_MODULE_MAP_N_TENSORS, file));
    ETX_CHECK(check_rows(found[PAIRS], found[PAIR_WINDOWS]));
    ETX_CHECK(check_rows(found[TRIPLETS], found[TRIPLET_WINDOWS]));
    ETX_CHECK(etx_module_map_create(&made, found[UNITS]->dim[0],
        found[PAIRS]->dim[0], found[TRIPLETS]->dim[0]));
    memcpy(made->unit, found[UNITS]->data,
        (size_t)found[UNITS]->n_values * sizeof *made->unit);
    memcpy(made->pair, found[PAIRS]->data,
        (size_t)found[PAIRS]->n_values * sizeof *made->pair);
    memcpy(made->pair_window, found[PAIR_WINDOWS]->data,
        (size_t)found[PAIR_WINDOWS]->n_values * sizeof(float));
    memcpy(made->triplet, found[TRIPLETS]->data,
        (size_t)found[TRIPLETS]->n_values * sizeof *made->triplet);
    memcpy(made->triplet_window, found[TRIPLET_WINDOWS]->data,
        (size_t)found[TRIPLET_WINDOWS]->n_values * sizeof(float));
    ETX_CHECK(etx_module_map_check(made));
    *out = made;
    made = NULL;
done:
    etx_module_map_free(made);
    return status;
}
