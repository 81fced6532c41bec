/* stage/helix/grid.c -- the hits of every layer in bins.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/helix/grid.h"

#include "base/check.h"
#include "base/constants.h"
#include "data/crowds.h"
#include "stage/helix/arc.h"
#include "stage/helix/layer_table.h"

#include <string.h>

#define MAX_AZIMUTH 512 /* bins of a layer */
#define MAX_ACROSS  64
#define HITS_OF_BIN 2 /* or more of them, in the mean */
#define MARGIN      1e-3

etx_status etx_grid_make_bins(
    struct etx_grid *grid, struct etx_arena *arena, int64_t n_hits)
{
    /* A layer has fewer than 4 bins for a hit, and the end. */
    const int64_t n_bins = 4 * n_hits + 2 * ETX_COMPLETION_MAX_LAYERS;
    etx_status status;

    ETX_SCRATCH(grid->hit, arena, n_hits, "bins of hits");
    ETX_SCRATCH(grid->begin, arena, n_bins, "bins of hits");
done:
    return status;
}

etx_status etx_grid_make(struct etx_grid **out, struct etx_arena *arena,
    const struct etx_completion *completion, const struct etx_event *event)
{
    struct etx_grid *grid = NULL; /* too large for a stack */
    uint8_t *is_crowded = NULL;
    const int64_t n = event->n_hits;
    etx_status status;

    ETX_SCRATCH(grid, arena, 1, "layers of hits");
    ETX_SCRATCH(grid->layer, arena, n, "layers of hits");
    ETX_SCRATCH(grid->row, arena, n, "layers of hits");
    ETX_SCRATCH(grid->bin, arena, n, "bins of hits");
    ETX_SCRATCH(grid->used, arena, n, "bins of hits");
    ETX_CHECK(etx_grid_make_bins(grid, arena, n));
    ETX_SCRATCH(is_crowded, arena, n, "layers of hits");
    ETX_CHECK(etx_event_find_crowds(is_crowded, arena, event));
    etx_completion_layers(grid->layer, completion, event);
    for (int64_t i = 0; i < n; i++) {
        const float *const at = event->position + 3 * i;

        if (is_crowded[i])
            grid->layer[i] = -1;
        grid->row[i] = (struct etx_grid_hit){.x = at[0],
            .y = at[1],
            .z = at[2],
            .radius = sqrtf(at[0] * at[0] + at[1] * at[1]),
            .azimuth = etx_arc_azimuth(at[1], at[0]),
            .hit = (int32_t)i,
            .module = event->module_id[i],
            .layer = grid->layer[i]};
    }
    *out = grid;
done:
    return status;
}

static int32_t bin_of(
    const struct etx_grid_layer *layer, const struct etx_grid_hit *hit)
{
    const int32_t row = etx_grid_clamp_bin(
        (etx_grid_across(layer, hit) - layer->low) * layer->per_bin,
        layer->n_across);
    const int32_t column = etx_grid_clamp_bin(
        ((double)hit->azimuth + ETX_PI) * layer->n_azimuth / (2.0 * ETX_PI),
        layer->n_azimuth);

    return row * layer->n_azimuth + column;
}

static int32_t density_bin(const struct etx_grid_layer *layer, double across)
{
    return etx_grid_clamp_bin(
        (across - layer->low) / (layer->high - layer->low) * ETX_GRID_N_DENSITY,
        ETX_GRID_N_DENSITY);
}

double etx_grid_density(const struct etx_grid_layer *layer, double across)
{
    return layer->density[density_bin(layer, across)];
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

double etx_grid_least_density(
    const struct etx_grid_layer *layer, double low, double high)
{
    const int32_t last = density_bin(layer, high);
    double least = INFINITY;

    for (int32_t b = density_bin(layer, low); b <= last; b++)
        least = smaller(layer->density[b], least);
    return least;
}

/* The bins of layers, empty. */
static void lay_out(struct etx_grid *grid, int64_t n_layers)
{
    struct etx_grid_hit *hit = grid->hit;
    int32_t *begin = grid->begin;

    for (int64_t l = 0; l < n_layers; l++) {
        struct etx_grid_layer *const layer = &grid->layers[l];
        int32_t side = 1;

        while (
            HITS_OF_BIN * side * side < layer->n_hits && 4 * side < MAX_AZIMUTH)
            side *= 2;
        layer->n_azimuth = 4 * side;
        layer->n_across = side > 1 ? side / 2 : 1;
        if (layer->n_across > MAX_ACROSS)
            layer->n_across = MAX_ACROSS;
        layer->low = layer->is_barrel ? layer->min_z : layer->min_radius;
        layer->high =
            (layer->is_barrel ? layer->max_z : layer->max_radius) + MARGIN;
        layer->per_bin = layer->n_across / (layer->high - layer->low);
        layer->per_angle = layer->n_azimuth / (2.0 * ETX_PI);
        layer->hit = hit;
        layer->begin = begin;
        if (layer->n_hits == 0)
            continue;
        const int32_t n_bins = layer->n_azimuth * layer->n_across;
        memset(begin, 0, (size_t)(n_bins + 1) * sizeof *begin);
        hit += layer->n_hits;
        begin += n_bins + 1;
    }
}

/* From counts in begin[bin] to where bins end. */
static void finish_layer(struct etx_grid_layer *layer)
{
    const double width = (layer->high - layer->low) / ETX_GRID_N_DENSITY;
    int32_t sum = 0;

    for (int32_t b = 0; b <= layer->n_azimuth * layer->n_across; b++)
        layer->begin[b] = sum += layer->begin[b];
    for (int32_t b = 0; b < ETX_GRID_N_DENSITY; b++) {
        const double radius =
            layer->is_barrel ? layer->radius : layer->low + (b + 0.5) * width;

        layer->density[b] /= 2.0 * ETX_PI * radius * width;
        layer->max_density = larger(layer->density[b], layer->max_density);
    }
}

/* The hits that have a layer, and no track or are among other; label NULL: all
 * that have a layer. Returns how many. */
static int64_t list_used(struct etx_grid *grid, const int32_t *label,
    const bool *other, int64_t n_hits)
{
    int64_t n = 0;

    /* Without a branch that nobody could foresee. */
    for (int64_t i = 0; i < n_hits; i++) {
        const bool is_used =
            label == NULL || (label[i] < 0) | (other != NULL && other[i]);

        grid->used[n] = (int32_t)i;
        n += (grid->layer[i] >= 0) & is_used;
    }
    return n;
}

/* Add hits k .. n - 1 that are used to the size of their layer, as long as it
 * is the same one: hits mostly come by layer. Returns where it ends. */
static int64_t measure_run(struct etx_grid *grid, int64_t k, int64_t n)
{
    const int32_t l = grid->layer[grid->used[k]];
    const int64_t first = k;
    struct etx_grid_layer layer = grid->layers[l];

    for (; k < n && grid->layer[grid->used[k]] == l; k++) {
        const struct etx_grid_hit *const hit = &grid->row[grid->used[k]];
        const double radius = (double)hit->radius;
        const double z = (double)hit->z;

        layer.min_radius = smaller(layer.min_radius, radius);
        layer.max_radius = larger(layer.max_radius, radius);
        layer.min_z = smaller(layer.min_z, z);
        layer.max_z = larger(layer.max_z, z);
        layer.radius += radius;
        layer.z += z;
    }
    layer.n_hits += (int32_t)(k - first);
    grid->layers[l] = layer;
    return k;
}

/* Measure the layers by the hits that are used [n]. */
static void measure(
    struct etx_grid *grid, const struct etx_completion *completion, int64_t n)
{
    for (int32_t l = 0; l < completion->n_layers; l++)
        grid->layers[l] = (struct etx_grid_layer){
            .is_barrel = etx_completion_is_barrel(completion, l),
            .min_radius = INFINITY,
            .max_radius = -INFINITY,
            .min_z = INFINITY,
            .max_z = -INFINITY};
    for (int64_t k = 0; k < n;)
        k = measure_run(grid, k, n);
    for (int32_t l = 0; l < completion->n_layers; l++) {
        struct etx_grid_layer *const layer = &grid->layers[l];

        layer->radius /= layer->n_hits > 0 ? layer->n_hits : 1;
        layer->z /= layer->n_hits > 0 ? layer->n_hits : 1;
    }
}

/* Put the hits that are used [n] into bins. */
static void fill_bins(struct etx_grid *grid,
    const struct etx_completion *completion, const int32_t *label, int64_t n)
{
    for (int32_t l = 0; l < completion->n_layers; l++)
        grid->layers[l].n_hits = 0;
    for (int64_t k = 0; k < n; k++)
        grid->layers[grid->layer[grid->used[k]]].n_hits++;
    lay_out(grid, completion->n_layers);
    for (int64_t k = 0; k < n; k++) {
        const int32_t i = grid->used[k];
        struct etx_grid_layer *const layer = &grid->layers[grid->layer[i]];

        grid->bin[k] = bin_of(layer, &grid->row[i]);
        layer->begin[grid->bin[k]]++;
        layer->density[density_bin(
            layer, etx_grid_across(layer, &grid->row[i]))] += label[i] < 0;
    }
    for (int64_t l = 0; l < completion->n_layers; l++)
        if (grid->layers[l].n_hits > 0)
            finish_layer(&grid->layers[l]);
    /* From the back: the begin of a bin sinks from its end to its first. */
    for (int64_t k = n - 1; k >= 0; k--) {
        const int32_t i = grid->used[k];
        struct etx_grid_layer *const layer = &grid->layers[grid->layer[i]];

        layer->hit[--layer->begin[grid->bin[k]]] = grid->row[i];
    }
}

void etx_grid_fill(struct etx_grid *grid,
    const struct etx_completion *completion, const int32_t *label,
    int64_t n_hits)
{
    const int64_t n = list_used(grid, label, NULL, n_hits);

    measure(grid, completion, n);
    fill_bins(grid, completion, label, n);
}

void etx_grid_measure(struct etx_grid *grid,
    const struct etx_completion *completion, int64_t n_hits)
{
    measure(grid, completion, list_used(grid, NULL, NULL, n_hits));
}

void etx_grid_fill_with(struct etx_grid *grid,
    const struct etx_completion *completion, const int32_t *label,
    const bool *other, int64_t n_hits)
{
    fill_bins(grid, completion, label, list_used(grid, label, other, n_hits));
}
