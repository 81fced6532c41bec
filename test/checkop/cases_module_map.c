/* checkop/cases_module_map.c -- cases of module_map: a random map and hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>

#define N_LAYERS 8     /* on a cylinder each */
#define STEP     50.0f /* mm between them */

static etx_status run_map(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    struct etx_module_map_args args =
        *(const struct etx_module_map_args *)self->args;
    struct etx_edge_list list = {-1, NULL, NULL};

    args.out = &list;
    const etx_status status = ops->module_map(stream, &args);
    checkop_take_edges(self->more, stream, &list);
    return status;
}

static int64_t below(int64_t n)
{
    return (int64_t)etx_random_below(&check.random, (uint64_t)n);
}

/* Layers of n_units units, the lower numbers inside. */
static int64_t layer_of(int64_t unit, int64_t n_units)
{
    return unit * N_LAYERS / n_units;
}

static void make_units(struct etx_map_table *map, int32_t of_layers)
{
    int64_t *unit = checkop_buffer(3 * map->n_units, sizeof *unit);

    for (int64_t u = 0; u < map->n_units; u++) {
        unit[3 * u] = 7;
        unit[3 * u + 1] = of_layers ? u : layer_of(u, map->n_units);
        unit[3 * u + 2] = of_layers ? -1 : u;
    }
    map->unit = unit;
}

/* Around 0, a quarter of them without bounds to speak of. */
static struct etx_map_window window_of(float width)
{
    const float half =
        below(4) == 0 ? 1e6f : width * etx_random_uniform(&check.random);

    return (struct etx_map_window){-half, half};
}

/* rows [n, 2], `first` [n_keys + 1] from the rows of each key, in ascending
 * order: of the pairs that `is_wanted` allows, two in three. */
static int64_t make_rows(int64_t *rows, int64_t *first, int64_t n_keys,
    const struct etx_map_table *map,
    int32_t (*is_wanted)(const struct etx_map_table *map, int64_t a, int64_t b))
{
    int64_t n = 0;

    for (int64_t a = 0; a < n_keys; a++) {
        first[a] = n;
        for (int64_t b = 0; b < n_keys; b++)
            if (is_wanted(map, a, b) && below(3) > 0) {
                if (rows != NULL) {
                    rows[2 * n] = a;
                    rows[2 * n + 1] = b;
                }
                n++;
            }
    }
    first[n_keys] = n;
    return n;
}

/* Units of the same layer, or of one of the next two. */
static int32_t is_pair(const struct etx_map_table *map, int64_t a, int64_t b)
{
    const int64_t step = layer_of(b, map->n_units) - layer_of(a, map->n_units);

    return a != b && step >= 0 && step <= 2;
}

static int32_t is_triplet(const struct etx_map_table *map, int64_t a, int64_t b)
{
    return map->pair[2 * a + 1] == map->pair[2 * b];
}

/* Rows as above, drawn twice: to count them, and to write them. */
static int64_t *draw_rows(int64_t *n, const int64_t **first_out, int64_t n_keys,
    const struct etx_map_table *map,
    int32_t (*is_wanted)(const struct etx_map_table *map, int64_t a, int64_t b))
{
    const struct etx_random before = check.random;
    int64_t *first = checkop_buffer(n_keys + 1, sizeof *first);
    int64_t *rows = NULL;

    *n = make_rows(NULL, first, n_keys, map, is_wanted);
    rows = checkop_buffer(2 * *n, sizeof *rows);
    check.random = before;
    make_rows(rows, first, n_keys, map, is_wanted);
    *first_out = first;
    return rows;
}

static void make_map(struct etx_map_table *map, int32_t with_triplets)
{
    struct etx_map_window *pair = NULL;
    struct etx_map_window *triplet = NULL;

    map->pair =
        draw_rows(&map->n_pairs, &map->pair_first, map->n_units, map, is_pair);
    pair = checkop_buffer(map->n_pairs * ETX_MAP_N_DOUBLET, sizeof *pair);
    for (int64_t p = 0; p < map->n_pairs; p++) {
        struct etx_map_window *const of = pair + p * ETX_MAP_N_DOUBLET;

        of[ETX_MAP_Z0] = window_of(400.0f);
        of[ETX_MAP_DPHI] = window_of(0.5f);
        of[ETX_MAP_PHI_SLOPE] = window_of(0.05f);
        of[ETX_MAP_DETA] = window_of(2.0f);
    }
    map->pair_window = pair;
    map->triplet_first = checkop_buffer(map->n_pairs + 1, sizeof(int64_t));
    if (!with_triplets)
        return;
    map->triplet = draw_rows(
        &map->n_triplets, &map->triplet_first, map->n_pairs, map, is_triplet);
    triplet =
        checkop_buffer(map->n_triplets * ETX_MAP_N_TRIPLET, sizeof *triplet);
    for (int64_t t = 0; t < map->n_triplets * ETX_MAP_N_TRIPLET; t++)
        triplet[t] = window_of(1.0f);
    map->triplet_window = triplet;
}

/* Hits on random units; one in ten in a layer that the map lacks, one in four
 * at azimuth pi or -pi, where -0.0f makes the difference. */
static void make_hits(struct etx_module_map_args *args, int32_t of_layers)
{
    const int64_t n = args->n_hits;
    float *position = checkop_buffer(3 * n, sizeof *position);
    int32_t *volume = checkop_buffer(n, sizeof *volume);
    int32_t *layer = checkop_buffer(n, sizeof *layer);
    int32_t *module = checkop_buffer(n, sizeof *module);

    for (int64_t i = 0; i < n; i++) {
        const int64_t unit = below(args->map.n_units);
        const float layer_number = (float)layer_of(unit, args->map.n_units);
        const float r = STEP * (1.0f + layer_number + 0.1f * (float)below(2));
        const float phi = 6.2831853f * etx_random_uniform(&check.random);
        const int64_t edge = below(8);

        position[3 * i] = edge < 2 ? -r : r * cosf(phi);
        position[3 * i + 1] = edge == 0   ? -0.0f
                              : edge == 1 ? 0.0f
                                          : r * sinf(phi);
        position[3 * i + 2] = (float)(below(200) - 100);
        volume[i] = below(10) == 0 ? 8 : 7;
        layer[i] = (int32_t)args->map.unit[3 * unit + 1];
        module[i] = of_layers ? (int32_t)below(50) : (int32_t)unit;
    }
    args->position = position;
    args->volume_id = volume;
    args->layer_id = layer;
    args->module_id = module;
}

void checkop_module_map(struct checkop_case *out, int64_t n_hits,
    int64_t n_units, int32_t of_layers, int32_t with_triplets)
{
    struct etx_module_map_args *args =
        checkop_begin(out, "module_map", sizeof *args);

    *args = (struct etx_module_map_args){.n_hits = n_hits,
        .map = {.n_units = of_layers ? N_LAYERS : n_units},
        .max_edges = INT32_MAX};
    make_units(&args->map, of_layers);
    make_map(&args->map, with_triplets);
    make_hits(args, of_layers);
    out->run = run_map;
    checkop_edge_outputs(out, n_hits * 400);
    checkop_label(out, "hits=%d units=%d pairs=%d triplets=%d", (int)n_hits,
        (int)args->map.n_units, (int)args->map.n_pairs,
        (int)args->map.n_triplets);
}
