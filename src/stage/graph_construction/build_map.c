/* stage/graph_construction/build_map.c -- an event to a graph by a module map.
 *
 * The map has many megabytes: on a device it is kept with the parameters of
 * frozen networks, as one array.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <string.h>

/* Numbers of a map: 8 bytes each, also the two floats of a window. */
#define NUMBER sizeof(int64_t)

/* first [n + 1]: where the rows of every key below n begin in rows [n_rows, 2],
 * whose first columns ascend. */
static void find_first(
    int64_t *first, int64_t n, const int64_t *rows, int64_t n_rows)
{
    int64_t k = 0;

    for (int64_t key = 0; key <= n; key++) {
        while (k < n_rows && rows[2 * k] < key)
            k++;
        first[key] = k;
    }
}

/* A map on the host, with the offsets in scratch. */
static etx_status host_table(struct etx_map_table *out, struct etx_arena *arena,
    const struct etx_module_map *map)
{
    int64_t *pair_first = NULL;
    int64_t *triplet_first = NULL;
    etx_status status;

    ETX_SCRATCH(pair_first, arena, map->n_units + 1, "pairs of a module map");
    ETX_SCRATCH(
        triplet_first, arena, map->n_pairs + 1, "triplets of a module map");
    find_first(pair_first, map->n_units, map->pair, map->n_pairs);
    find_first(triplet_first, map->n_pairs, map->triplet, map->n_triplets);
    *out = (struct etx_map_table){.n_units = map->n_units,
        .unit = map->unit,
        .n_pairs = map->n_pairs,
        .pair = map->pair,
        .pair_window = map->pair_window,
        .n_triplets = map->n_triplets,
        .triplet = map->triplet,
        .triplet_window = map->triplet_window,
        .pair_first = pair_first,
        .triplet_first = triplet_first};
done:
    return status;
}

/* -------------------------------------------------------------- a device -- */

/* Arrays one after the other from base on, which are written to copy unless it
 * is NULL. */
struct packing {
    const char *base;
    char *copy;
    size_t used;
};

static const void *pack(
    struct packing *packing, const void *values, int64_t n_numbers)
{
    const size_t bytes = (size_t)n_numbers * NUMBER;
    const void *const out = packing->base + packing->used;

    if (packing->copy != NULL && bytes > 0)
        memcpy(packing->copy + packing->used, values, bytes);
    packing->used += bytes;
    return out;
}

static void pack_table(struct etx_map_table *table, struct packing *packing)
{
    const int64_t n_units = table->n_units;
    const int64_t n_pairs = table->n_pairs;
    const int64_t n_triplets = table->n_triplets;

    table->unit = pack(packing, table->unit, n_units * ETX_MAP_UNIT_WIDTH);
    table->pair = pack(packing, table->pair, n_pairs * 2);
    table->pair_window =
        pack(packing, table->pair_window, n_pairs * ETX_MAP_N_DOUBLET);
    table->triplet = pack(packing, table->triplet, n_triplets * 2);
    table->triplet_window =
        pack(packing, table->triplet_window, n_triplets * ETX_MAP_N_TRIPLET);
    table->pair_first = pack(packing, table->pair_first, n_units + 1);
    table->triplet_first = pack(packing, table->triplet_first, n_pairs + 1);
}

static int64_t count_numbers(const struct etx_module_map *map)
{
    return map->n_units * (ETX_MAP_UNIT_WIDTH + 1) + 1 +
           map->n_pairs * (2 + ETX_MAP_N_DOUBLET + 1) + 1 +
           map->n_triplets * (2 + ETX_MAP_N_TRIPLET);
}

/* *out = the numbers of a table of the host, on the device. */
static etx_status copy_table(const float **out, struct etx_context *context,
    const struct etx_module_map *map, const struct etx_map_table *table)
{
    const int64_t n = count_numbers(map);
    const int64_t n_floats = n * (int64_t)(NUMBER / sizeof(float));
    struct etx_map_table packed = *table;
    struct packing packing = {0};
    float *cached = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(
        &packing.copy, n, NUMBER, "arrays of a module map"));
    packing.base = packing.copy;
    pack_table(&packed, &packing);
    if (map->frozen_id != 0)
        ETX_CHECK(etx_weight_cache_parameters(&cached,
            context->stream->weight_cache, map->frozen_id,
            (const float *)(const void *)packing.copy, n_floats));
    *out = cached;
    if (cached == NULL)
        ETX_CHECK(etx_arena_to_device(out, context->stream->arena, packing.copy,
            n_floats, sizeof **out, "arrays of a module map"));
done:
    etx_free(packing.copy);
    return status;
}

/* Move a table of the host to the device of context. */
static etx_status table_to_device(struct etx_map_table *table,
    struct etx_context *context, const struct etx_module_map *map)
{
    const float *numbers =
        etx_weight_cache_find(context->stream->weight_cache, map->frozen_id);
    struct packing packing = {0};
    etx_status status = ETX_OK;

    if (numbers == NULL)
        ETX_CHECK(copy_table(&numbers, context, map, table));
    packing.base = (const char *)numbers;
    pack_table(table, &packing);
done:
    return status;
}

/* ----------------------------------------------------------------- graph -- */

static etx_status ids_to_device(struct etx_module_map_args *args,
    struct etx_context *context, const struct etx_event *event)
{
    struct etx_arena *const arena = context->stream->arena;
    const int64_t n = event->n_hits;
    const size_t size = sizeof(int32_t);
    etx_status status;

    ETX_CHECK(etx_arena_to_device(
        &args->volume_id, arena, event->volume_id, n, size, "volumes of hits"));
    ETX_CHECK(etx_arena_to_device(
        &args->layer_id, arena, event->layer_id, n, size, "layers of hits"));
    ETX_CHECK(etx_arena_to_device(
        &args->module_id, arena, event->module_id, n, size, "modules of hits"));
done:
    return status;
}

static etx_status find_edges(struct etx_edge_list *out,
    struct etx_context *context, const struct etx_module_map *map,
    const struct etx_event *event, int64_t max_edges)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_module_map_args args = {.n_hits = event->n_hits,
        .max_edges = etx_stage_free_edges(context, event->n_hits, max_edges),
        .out = out};
    etx_status status;

    if (event->module_id == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "module map: the event has no modules: see etx_event_set_modules");
    ETX_CHECK(host_table(&args.map, etx_host_of(context)->stream->arena, map));
    ETX_CHECK(etx_stage_positions(&args.position, context, event));
    ETX_CHECK(ids_to_device(&args, context, event));
    if (context->stream->memory != NULL)
        ETX_CHECK(table_to_device(&args.map, context, map));
    ETX_CHECK(context->ops->module_map(context->stream, &args));
done:
    etx_scratch_reset(context, mark);
    return status;
}

etx_status etx_stage_build_map(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, int64_t max_edges)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_GRAPH);
    struct etx_edge_list list = {0, NULL, NULL};
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(find_edges(&list, context, model->module_map, event, max_edges));
    ETX_CHECK(etx_graph_adopt(&graph, context, event->n_hits, list.n_edges,
        list.src, list.dst, NULL));
    list = (struct etx_edge_list){0, NULL, NULL};
    ETX_CHECK(etx_stage_end(context, &clock, graph->n_edges));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    etx_memory_free(context->stream->memory, list.src);
    etx_memory_free(context->stream->memory, list.dst);
    return status;
}
