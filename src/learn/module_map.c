/* learn/module_map.c -- learn a module map from true tracks.
 *
 * The hits of a particle after each other are its doublets, two doublets after
 * each other its triplets; windows.c makes a map of the samples of all events.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/learn_table.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "learn/map_windows.h"
#include "op/shared/module_map.h"
#include "train/config.h"
#include "train/sampling/particle_chains.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct learning {
    const etx_module_map_options *options;
    struct etx_module_map *map;  /* its units, until the end */
    struct etx_samples doublets; /* keys: units */
    struct etx_samples triplets; /* keys: doublets, then pairs */
};

/* ---------------------------------------------------------------- units -- */

/* unit [*n], sorted, each once. */
static etx_status make_unique(int64_t *unit, int64_t *n)
{
    const size_t size = ETX_MAP_UNIT_WIDTH * sizeof *unit;
    int64_t *key = NULL;
    int64_t *sorted = NULL;
    int32_t *by_module = NULL;
    int32_t *order = NULL;
    int64_t kept = 0;
    etx_status status;

    if (*n > INT32_MAX)
        ETX_FAIL(ETX_ERR_LIMIT, "module map: more than %d hits", INT32_MAX);
    ETX_NEW(key, *n, "units of a module map");
    ETX_NEW(sorted, ETX_MAP_UNIT_WIDTH * *n, "units of a module map");
    ETX_NEW(by_module, *n, "order of units");
    ETX_NEW(order, *n, "order of units");
    for (int64_t k = 0; k < *n; k++)
        key[k] = unit[k * ETX_MAP_UNIT_WIDTH + 2];
    ETX_CHECK(etx_sort_order(by_module, key, *n));
    for (int64_t k = 0; k < *n; k++) {
        const int64_t *at = unit + (int64_t)by_module[k] * ETX_MAP_UNIT_WIDTH;

        ETX_POLL(k);
        key[k] = at[0] * ((int64_t)1 << 32) + at[1];
    }
    ETX_CHECK(etx_sort_order(order, key, *n));
    for (int64_t k = 0; k < *n; k++) {
        const int64_t *at =
            unit + (int64_t)by_module[order[k]] * ETX_MAP_UNIT_WIDTH;

        ETX_POLL(k);
        if (kept == 0 ||
            memcmp(sorted + (kept - 1) * ETX_MAP_UNIT_WIDTH, at, size) != 0)
            memcpy(sorted + kept++ * ETX_MAP_UNIT_WIDTH, at, size);
    }
    memcpy(unit, sorted, (size_t)kept * size);
    *n = kept;
done:
    etx_free(key);
    etx_free(sorted);
    etx_free(by_module);
    etx_free(order);
    return status;
}

/* Add the units of an event. */
static etx_status add_units(
    struct learning *learning, const struct etx_event *event)
{
    struct etx_module_map *const units = learning->map;
    const int64_t n = units->n_units;
    const bool is_layer = learning->options->units == ETX_MAP_LAYERS;
    etx_status status;

    ETX_CHECK(etx_resize(&units->unit, n * ETX_MAP_UNIT_WIDTH,
        (n + event->n_hits) * ETX_MAP_UNIT_WIDTH, sizeof *units->unit,
        "units of a module map"));
    for (int64_t i = 0; i < event->n_hits; i++) {
        int64_t *const unit = units->unit + (n + i) * ETX_MAP_UNIT_WIDTH;

        unit[0] = event->volume_id[i];
        unit[1] = event->layer_id[i];
        unit[2] = is_layer ? -1 : event->module_id[i];
    }
    units->n_units += event->n_hits;
    ETX_CHECK(make_unique(units->unit, &units->n_units));
done:
    return status;
}

/* --------------------------------------------------------------- events -- */

/* The true pairs of an event that are outward: partner [offset[n_hits]]. */
struct chain {
    const struct etx_event *event;
    int64_t *offset; /* [n_hits + 1] */
    int32_t *partner;
    int64_t *sample; /* [n_hits] the doublet of the hit with the next; or -1 */
};

static bool is_learned(
    const struct learning *learning, const struct etx_event *event, int64_t hit)
{
    const etx_particle *const particle =
        &event->particles[event->particle_row[hit]];

    return hypot(
               (double)particle->momentum[0], (double)particle->momentum[1]) >=
           (double)learning->options->min_pt;
}

/* Add the doublet of hit i and the next, where there is one. */
static etx_status add_doublet(
    struct learning *learning, struct chain *chain, int64_t i)
{
    const struct etx_event *const event = chain->event;
    struct etx_map_hit a = etx_map_hit_of(event->position, i);
    float value[ETX_MAP_N_DOUBLET];
    int64_t unit[2];
    etx_status status = ETX_OK;

    chain->sample[i] = -1;
    if (chain->offset[i] == chain->offset[i + 1] ||
        !is_learned(learning, event, i))
        return ETX_OK;
    struct etx_map_hit b =
        etx_map_hit_of(event->position, chain->partner[chain->offset[i]]);
    if (!etx_map_is_outward(&a, &b)) {
        const struct etx_map_hit inner = b;

        b = a;
        a = inner;
    }
    for (int32_t end = 0; end < 2; end++) {
        const int32_t row = end == 0 ? a.row : b.row;

        unit[end] = etx_module_map_unit(learning->map, event->volume_id[row],
            event->layer_id[row], event->module_id[row]);
    }
    etx_map_doublet(value, &a, &b);
    if (a.row == i)
        chain->sample[i] = learning->doublets.n;
    ETX_CHECK(etx_samples_add(
        &learning->doublets, etx_map_key(unit[0], unit[1]), value));
done:
    return status;
}

/* Add the triplet that begins at hit i, where its doublets are outward. */
static etx_status add_triplet(
    struct learning *learning, const struct chain *chain, int64_t i)
{
    if (chain->sample[i] < 0)
        return ETX_OK;
    const int64_t j = chain->partner[chain->offset[i]];
    if (chain->sample[j] < 0)
        return ETX_OK;
    const struct etx_map_hit hit[] = {etx_map_hit_of(chain->event->position, i),
        etx_map_hit_of(chain->event->position, j),
        etx_map_hit_of(
            chain->event->position, chain->partner[chain->offset[j]])};
    const struct etx_map_direction first =
        etx_map_direction_of(&hit[0], &hit[1]);
    const struct etx_map_direction second =
        etx_map_direction_of(&hit[1], &hit[2]);
    float value[ETX_MAP_N_TRIPLET];

    etx_map_triplet(value, &first, &second);
    return etx_samples_add(&learning->triplets,
        etx_map_key(chain->sample[i], chain->sample[j]), value);
}

static etx_status add_event(
    struct learning *learning, const struct etx_event *event)
{
    const int64_t n = event->n_hits;
    struct chain chain = {.event = event};
    etx_status status;

    ETX_NEW(chain.offset, n + 1, "true pairs");
    ETX_NEW(chain.sample, n, "true pairs");
    ETX_CHECK(
        etx_chain_pairs(chain.offset, &chain.partner, event, ETX_PAIRS_HIT));
    for (int64_t i = 0; i < n; i++) {
        ETX_CHECK(etx_cancel_poll());
        ETX_CHECK(add_doublet(learning, &chain, i));
    }
    for (int64_t i = 0; i < n && learning->options->use_triplets; i++) {
        ETX_CHECK(etx_cancel_poll());
        ETX_CHECK(add_triplet(learning, &chain, i));
    }
done:
    etx_free(chain.offset);
    etx_free(chain.partner);
    etx_free(chain.sample);
    return status;
}

/* ------------------------------------------------------------------ map -- */

/* Pairs and triplets of the map from all samples. */
static etx_status make_windows(struct learning *learning)
{
    struct etx_module_map *const map = learning->map;
    struct etx_samples *const triplets = &learning->triplets;
    struct etx_map_groups pairs = {.n = 0};
    struct etx_map_groups rest = {.n = 0};
    etx_status status;

    ETX_CHECK(
        etx_map_groups_make(&pairs, &learning->doublets, learning->options));
    for (int64_t k = 0; k < triplets->n; k++) {
        ETX_POLL(k);
        triplets->key[k] =
            etx_map_key(pairs.index[etx_map_key_first(triplets->key[k])],
                pairs.index[etx_map_key_second(triplets->key[k])]);
    }
    ETX_CHECK(etx_map_groups_make(&rest, triplets, learning->options));
    map->n_pairs = pairs.n;
    map->pair = pairs.key;
    map->pair_window = pairs.window;
    map->n_triplets = rest.n;
    map->triplet = rest.key;
    map->triplet_window = rest.window;
    pairs.key = rest.key = NULL;
    pairs.window = rest.window = NULL;
done:
    etx_map_groups_free(&pairs);
    etx_map_groups_free(&rest);
    return status;
}

static etx_status check_event(const struct etx_event *event, int64_t number)
{
    if (event->module_id == NULL || event->particle_row == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "module map: event %" PRId64 " has no %s", number,
            event->module_id == NULL ? "modules" : "truth");
    return ETX_OK;
}

etx_status etx_learn_module_map(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    struct learning learning = {.options = options,
        .doublets = {.width = ETX_MAP_N_DOUBLET},
        .triplets = {.width = ETX_MAP_N_TRIPLET}};
    etx_status status;

    ETX_NEW(learning.map, 1, "module map");
    learning.map->kind = &etx_module_map_kind;
    for (int64_t e = 0; e < n_events; e++) {
        ETX_CHECK(check_event(events[e], e));
        ETX_CHECK(add_units(&learning, events[e]));
    }
    for (int64_t e = 0; e < n_events; e++)
        ETX_CHECK(add_event(&learning, events[e]));
    if (learning.doublets.n == 0)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "module map: no track of the events has two hits");
    ETX_CHECK(make_windows(&learning));
    ETX_CHECK(etx_module_map_check(learning.map));
    etx_table_free(model->module_map);
    model->module_map = learning.map;
    learning.map = NULL;
done:
    etx_table_free(learning.map);
    etx_samples_free(&learning.doublets);
    etx_samples_free(&learning.triplets);
    return status;
}
