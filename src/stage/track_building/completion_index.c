/* stage/track_building/completion_index.c -- the hits of an event by layer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/completion_search.h"

#include "base/check.h"
#include "base/constants.h"
#include "base/sort.h"

#include <math.h>

#define MIN_SIZE       1e-3 /* mm, of a layer */
#define KEYS_PER_LAYER (INT64_C(1) << 33)

static double radius_of(const float *position)
{
    const double x = (double)position[0];
    const double y = (double)position[1];

    return sqrt(x * x + y * y);
}

/* Sort by (layer, azimuth, row): etx_sort_key has 32 bits and a sign, and the
 * sort is stable. An unknown layer is -1 and comes first. */
static etx_status sort_hits(int32_t *order, struct etx_arena *arena,
    const int32_t *layer, const float *phi, int64_t n_hits)
{
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    int64_t *key = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&key, arena, n_hits, sizeof *key, "hit order"));
    for (int64_t i = 0; i < n_hits; i++)
        key[i] = (int64_t)layer[i] * KEYS_PER_LAYER + etx_sort_key(phi[i]);
    ETX_CHECK(etx_sort_order(order, key, n_hits));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Means and extents of the layer's hits. */
static void measure(struct etx_layer_hits *layer, const float *position)
{
    layer->min_radius = layer->min_z = INFINITY;
    layer->max_radius = layer->max_z = -INFINITY;
    for (int64_t k = 0; k < layer->n; k++) {
        const float *const at = position + 3 * (int64_t)layer->hit[k];
        const double radius = radius_of(at);
        const double z = (double)at[2];

        layer->radius += radius / (double)layer->n;
        layer->z += z / (double)layer->n;
        layer->min_radius = fmin(layer->min_radius, radius);
        layer->max_radius = fmax(layer->max_radius, radius);
        layer->min_z = fmin(layer->min_z, z);
        layer->max_z = fmax(layer->max_z, z);
    }
}

int32_t etx_completion_bin(
    const struct etx_layer_hits *layer, bool is_barrel, double across)
{
    const double low = is_barrel ? layer->min_z : layer->min_radius;
    const double high = is_barrel ? layer->max_z : layer->max_radius;
    const double bin =
        (across - low) / (high - low + MIN_SIZE) * ETX_COMPLETION_N_BINS;

    if (!(bin > 0.0))
        return 0;
    return bin < ETX_COMPLETION_N_BINS ? (int32_t)bin
                                       : ETX_COMPLETION_N_BINS - 1;
}

/* Hits without a track per area, in bins along z or the radius. */
static void count_density(
    struct etx_layer_hits *layer, bool is_barrel, const int32_t *label)
{
    const double low = is_barrel ? layer->min_z : layer->min_radius;
    const double high = is_barrel ? layer->max_z : layer->max_radius;
    const double width = (high - low + MIN_SIZE) / ETX_COMPLETION_N_BINS;

    for (int64_t k = 0; k < layer->n; k++)
        if (label[layer->hit[k]] < 0)
            layer->density[etx_completion_bin(
                layer, is_barrel, (double)layer->across[k])] += 1.0;
    for (int32_t b = 0; b < ETX_COMPLETION_N_BINS; b++) {
        const double radius =
            is_barrel ? layer->radius : low + (b + 0.5) * width;

        layer->density[b] /= 2.0 * ETX_PI * radius * width;
    }
}

/* Arrays in the order of layers and azimuths. */
struct sorted {
    int32_t *hit;
    float *phi, *across;
};

/* The layer from begin on of the sorted hits. */
static void fill_layer(struct etx_layer_hits *layer,
    const struct sorted *sorted, int64_t begin, int64_t end, bool is_barrel,
    const float *position)
{
    *layer = (struct etx_layer_hits){.n = end - begin,
        .hit = sorted->hit + begin,
        .phi = sorted->phi + begin,
        .across = sorted->across + begin};
    for (int64_t k = begin; k < end; k++) {
        const float *const at = position + 3 * (int64_t)sorted->hit[k];

        sorted->across[k] = is_barrel ? at[2] : (float)radius_of(at);
    }
    measure(layer, position);
}

static void fill_layers(struct etx_completion_search *search,
    const struct sorted *sorted, const int32_t *label)
{
    const struct etx_completion *const completion = search->completion;
    const int64_t n_hits = search->event->n_hits;
    int64_t begin = 0;

    while (begin < n_hits && search->layer[sorted->hit[begin]] < 0)
        begin++;
    for (int32_t l = 0; l < completion->n_layers; l++) {
        const bool is_barrel = etx_completion_is_barrel(completion, l);
        int64_t end = begin;

        while (end < n_hits && search->layer[sorted->hit[end]] == l)
            end++;
        fill_layer(&search->layers[l], sorted, begin, end, is_barrel,
            search->event->position);
        count_density(&search->layers[l], is_barrel, label);
        begin = end;
    }
}

etx_status etx_completion_index(struct etx_completion_search *search,
    struct etx_arena *arena, const int32_t *label)
{
    const int64_t n = search->event->n_hits;
    const float *const position = search->event->position;
    struct sorted sorted;
    float *phi = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &search->layer, arena, n, sizeof *search->layer, "layers of hits"));
    ETX_CHECK(etx_arena_alloc(
        &sorted.hit, arena, n, sizeof *sorted.hit, "hits by layer"));
    ETX_CHECK(etx_arena_alloc(
        &sorted.phi, arena, n, sizeof *sorted.phi, "hits by layer"));
    ETX_CHECK(etx_arena_alloc(
        &sorted.across, arena, n, sizeof *sorted.across, "hits by layer"));
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    ETX_CHECK(etx_arena_alloc(&phi, arena, n, sizeof *phi, "azimuths"));
    etx_completion_layers(search->layer, search->completion, search->event);
    for (int64_t i = 0; i < n; i++)
        phi[i] =
            (float)atan2((double)position[3 * i + 1], (double)position[3 * i]);
    ETX_CHECK(sort_hits(sorted.hit, arena, search->layer, phi, n));
    for (int64_t k = 0; k < n; k++)
        sorted.phi[k] = phi[sorted.hit[k]];
    etx_arena_reset(arena, mark);
    fill_layers(search, &sorted, label);
done:
    return status;
}
