/* checkop/test_checkop_module_map.c -- the edges that a module map allows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "op/shared/module_map.h"

/* Hits, units, whether of layers, whether with triplets. */
static const int32_t shapes[][4] = {{0, 1, 0, 0}, {1, 1, 0, 1}, {40, 1, 0, 1},
    {63, 8, 0, 0}, {300, 16, 0, 1}, {300, 8, 1, 0}, {500, 8, 1, 1},
    {700, 64, 0, 1}, {900, 200, 0, 0}};
#define N_SHAPES ROWS(shapes)

/* The row of the map that allows the doublet (a, b) of hits; -1. */
static int64_t pair_of(
    const struct etx_module_map_args *args, int64_t a, int64_t b)
{
    const int64_t ends[] = {a, b};
    int64_t unit[2];
    struct etx_map_hit hit[2];

    for (int32_t k = 0; k < 2; k++) {
        unit[k] = etx_map_unit_of(args->map.unit, args->map.n_units,
            args->volume_id[ends[k]], args->layer_id[ends[k]],
            args->module_id[ends[k]]);
        hit[k] = etx_map_hit_of(args->position, ends[k]);
        if (unit[k] < 0)
            return -1;
    }
    const int64_t pair =
        etx_map_find_row(args->map.pair, args->map.n_pairs, unit, 2);

    return pair >= 0 && etx_map_is_doublet(
                            args->map.pair_window + pair * ETX_MAP_N_DOUBLET,
                            &hit[0], &hit[1])
               ? pair
               : -1;
}

static int32_t is_triplet(const struct etx_module_map_args *args,
    const int64_t *row, const int64_t *pair)
{
    const int64_t t =
        etx_map_find_row(args->map.triplet, args->map.n_triplets, pair, 2);
    struct etx_map_direction direction[2];
    float value[ETX_MAP_N_TRIPLET];

    if (t < 0)
        return 0;
    for (int32_t k = 0; k < 2; k++) {
        const struct etx_map_hit a = etx_map_hit_of(args->position, row[k]);
        const struct etx_map_hit b = etx_map_hit_of(args->position, row[k + 1]);

        direction[k] = etx_map_direction_of(&a, &b);
    }
    etx_map_triplet(value, &direction[0], &direction[1]);
    return etx_map_is_within(args->map.triplet_window + t * ETX_MAP_N_TRIPLET,
        value, ETX_MAP_N_TRIPLET);
}

/* pair [n, n] of all doublets; doublets of no triplet become -1. */
static void keep_triplets(int32_t *pair, const struct etx_module_map_args *args)
{
    const int64_t n = args->n_hits;
    scoped uint8_t *kept = etx_test_alloc(n * n + 1, sizeof *kept);

    for (int64_t ab = 0; ab < n * n; ab++)
        for (int64_t c = 0; c < n && pair[ab] >= 0; c++) {
            const int64_t bc = ab % n * n + c;
            const int64_t row[] = {ab / n, ab % n, c};
            const int64_t both[] = {pair[ab], pair[bc]};

            if (pair[bc] >= 0 && is_triplet(args, row, both))
                kept[ab] = kept[bc] = 1;
        }
    for (int64_t ab = 0; ab < n * n; ab++)
        if (!kept[ab])
            pair[ab] = -1;
}

/* Every pair of hits, by target and source. */
static void compare_with_all_pairs(const struct checkop_case *one)
{
    const struct etx_module_map_args *args = one->args;
    const struct checkop_edges *edges = one->more;
    const int64_t n = args->n_hits;
    scoped int32_t *pair = etx_test_alloc(n * n + 1, sizeof *pair);
    int64_t e = 0;

    for (int64_t ab = 0; ab < n * n; ab++)
        pair[ab] = (int32_t)pair_of(args, ab / n, ab % n);
    if (args->map.n_triplets > 0)
        keep_triplets(pair, args);
    for (int64_t b = 0; b < n; b++)
        for (int64_t a = 0; a < n; a++) {
            if (pair[a * n + b] < 0)
                continue;
            if (edges->src[e] != a || edges->dst[e] != b)
                ck_abort_msg(
                    "%s: no edge %d -> %d", one->label, (int)a, (int)b);
            e++;
        }
    ck_assert_int_eq(edges->n_edges, e);
    if (n >= 300)
        ck_assert_int_gt(e, n / 4);
}

CHECKOP_TEST(test_module_map_shapes, .rows = N_SHAPES)
{
    struct checkop_case one;

    checkop_module_map(
        &one, shapes[_i][0], shapes[_i][1], shapes[_i][2], shapes[_i][3]);
    checkop_verify(&one);
    compare_with_all_pairs(&one);
}

/* More edges than the caller allows, on a device, too; cancelled, and without
 * memory. */
CHECKOP_TEST(test_module_map_fails, .rows = 2)
{
    struct checkop_case one;
    struct etx_module_map_args *args = NULL;
    const struct checkop_implementation *const device =
        &check.implementation[check.n_implementations];

    checkop_module_map(&one, 400, 8, 1, _i);
    args = one.args;
    args->max_edges = 10;
    checkop_verify_failure(&one, ETX_ERR_LIMIT);
    if (check.device != NULL)
        ck_assert_status(
            checkop_run(&device->ops, device->stream, &one), ETX_ERR_LIMIT);
    ck_assert_error("module map: the graph has more than 10 edges");
    args->max_edges = INT32_MAX;
    checkop_verify_interrupted(&one);
}
