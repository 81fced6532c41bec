/* stage/first_pass/free_seed.c -- the first three hits of a track from
 * anywhere: on barrels, or on discs of one volume, that follow each other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/pairs.h"

#define MAX_TURN    1.0 /* rad, from the first hit to the second */
#define MAX_SIDE    1.0 /* sideways per path outward, mm/mm */
#define MAX_SLOPE   2.0 /* z per path outward, between barrels */
#define MAX_OUTWARD 1.0 /* radius per z, between discs */
#define DISC_SIDE   0.5 /* sideways per z */
#define WINDOW_BIN  2   /* of transverse momentum */
/* Second hits of a first one, about: where there are more, only those ahead of
 * it. Events of 100 000 hits have up to 101. */
#define MAX_SECOND_HITS 100

/* true: l follows from, as far as their kinds go. */
static bool follows(
    const struct etx_first_pass_search *search, int32_t l, int32_t from)
{
    const int64_t *const table = search->completion->layer;
    const struct etx_grid_layer *const next = &search->grid.layers[l];
    const struct etx_grid_layer *const layer = &search->grid.layers[from];

    if (next->n_hits == 0 || next->is_barrel != layer->is_barrel)
        return false;
    if (layer->is_barrel)
        return next->radius > layer->radius;
    return table[l * ETX_LAYER_WIDTH + ETX_LAYER_VOLUME] ==
               table[from * ETX_LAYER_WIDTH + ETX_LAYER_VOLUME] &&
           next->z * layer->z > 0.0 && fabs(next->z) > fabs(layer->z);
}

/* The nearest layer that follows; -1: there is none. */
static int32_t next_layer(
    const struct etx_first_pass_search *search, int32_t layer)
{
    int32_t best = -1;

    for (int32_t l = 0; l < search->completion->n_layers; l++)
        if (follows(search, l, layer) && (best < 0 || follows(search, best, l)))
            best = l;
    return best;
}

/* Begin a walk over the hits of a layer that may follow hit a. */
static void begin_pairs(struct etx_grid_walk *walk,
    const struct etx_grid_hit *a, const struct etx_grid_layer *layer)
{
    const double radius = (double)a->radius;
    const double z = (double)a->z;
    const double path = layer->is_barrel ? fmax(layer->max_radius - radius, 0.0)
                                         : fabs(layer->z - z);
    const double low = layer->is_barrel ? z - MAX_SLOPE * path : radius;
    const double high =
        layer->is_barrel ? z + MAX_SLOPE * path : radius + MAX_OUTWARD * path;
    const double width =
        fmin(MAX_TURN, layer->is_barrel ? MAX_SIDE * path / layer->radius
                                        : DISC_SIDE * path / radius);
    const double azimuth = (double)a->azimuth;

    etx_grid_begin(walk, layer, azimuth, width, low, high);
    const double share = MAX_SECOND_HITS / fmax(etx_grid_n_ahead(walk), 1.0);
    if (share < 1.0)
        etx_grid_begin(walk, layer, azimuth, share * width, low, high);
}

/* Candidates of pair i with every third hit. */
static void add_third(struct etx_candidate *best,
    const struct etx_first_pass_search *search, const struct etx_pairs *pairs,
    const struct etx_pair_crossings *crossings,
    const struct etx_grid_layer *layer, int32_t i)
{
    const struct etx_grid_hit *const row = search->grid.row;
    const struct etx_track_helix line = etx_pair_helix(pairs, i);
    struct etx_layer_crossing crossing =
        etx_pair_crossing(crossings, i, &line, layer);
    const struct etx_grid_hit *c;
    struct etx_candidate candidate;
    struct etx_grid_walk walk;
    double s;
    const double max_distance =
        etx_crossing_begin_near(&walk, &crossing, search, pairs->max_random);

    while (etx_candidate_is_allowed(search) &&
           (c = etx_crossing_next(&walk, &crossing)) != NULL) {
        const double distance = etx_crossing_distance(&s, &crossing, c);

        if (!(distance < max_distance) ||
            fabs(etx_curvature_through(row[pairs->first].position,
                row[pairs->hit[i]].position, c->position)) >
                search->max_curvature)
            continue;
        etx_candidate_begin(&candidate, pairs->first, pairs->hit[i], c->hit,
            0.0f, (float)(distance * etx_random_hits_at(&crossing)), 0);
        etx_candidate_finish(best, search, &candidate);
    }
    search->cache->n_visits += etx_grid_n_visited(&walk);
}

/* Candidates of the pairs, which are gone then. */
static void add_thirds(struct etx_candidate *best,
    const struct etx_first_pass_search *search, struct etx_pairs *pairs,
    const struct etx_grid_layer *layer,
    const struct etx_completion_window *window)
{
    struct etx_pair_crossings crossings;

    search->pairs->find_lines(&crossings, pairs, search, layer, window);
    search->pairs->cross(&crossings, search, pairs, layer);
    for (int32_t i = 0; i < pairs->n; i++)
        if (pairs->is_kept[i] && crossings.is_crossed[i])
            add_third(best, search, pairs, &crossings, layer, i);
    pairs->n = 0;
}

void etx_free_candidates(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first)
{
    const struct etx_grid_hit *const a = &search->grid.row[first];
    const int32_t second = next_layer(search, search->grid.row[first].layer);
    const int32_t third = second < 0 ? -1 : next_layer(search, second);
    const struct etx_completion_window *window;
    struct etx_pairs pairs;
    const struct etx_grid_hit *b;
    struct etx_grid_walk walk;

    for (int32_t k = 0; k < ETX_CANDIDATES_OF_HIT; k++)
        best[k].n_hits = 0;
    if (third < 0)
        return;
    window = etx_window_between(search->completion, second, third, WINDOW_BIN);
    if (window == NULL)
        return;
    begin_pairs(&walk, a, &search->grid.layers[second]);
    etx_pairs_begin(&pairs, search, first, &walk);
    while (etx_candidate_is_allowed(search) &&
           (b = etx_grid_next(&walk)) != NULL) {
        etx_pairs_add(&pairs, b);
        if (pairs.n == ETX_PAIRS)
            add_thirds(
                best, search, &pairs, &search->grid.layers[third], window);
    }
    search->cache->n_visits += etx_grid_n_visited(&walk);
    add_thirds(best, search, &pairs, &search->grid.layers[third], window);
}
