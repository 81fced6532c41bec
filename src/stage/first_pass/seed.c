/* stage/first_pass/seed.c -- the innermost three hits of a candidate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/search.h"

#include "base/constants.h"

#include "stage/first_pass/pairs.h"

#include <string.h>

#define MARGIN       5.0  /* mm */
#define DISC_MARGIN  0.02 /* of the radius */
#define ANGLE_MARGIN 2e-3 /* rad */
#define MAX_TOGETHER 4    /* seeds that share the first two layers */
#define SEED_GAPS    6u   /* before the second or the third hit */

bool etx_seed_helix(
    struct etx_track_helix *out, double *z, const float *a, const float *b)
{
    return etx_helix_from_beam(out, z, (double)a[0], (double)a[1], (double)a[2],
        (double)b[0], (double)b[1], (double)b[2]);
}

/* Where the second hit of a track from the beam may be. */
struct pair_window {
    double low, high; /* across, mm */
    double outer;     /* radius, mm */
    double width;     /* of azimuth, rad */
};

/* The line from z on the beam through the hit, at a radius. */
static double line_at_radius(
    const struct etx_grid_hit *hit, double z, double radius)
{
    return z + ((double)hit->z - z) * radius / (double)hit->radius;
}

/* The same at another z; INFINITY: it never comes there. */
static double line_at_z(const struct etx_grid_hit *hit, double z, double other)
{
    const double ratio = (other - z) / ((double)hit->z - z);

    return ratio > 1.0 ? (double)hit->radius * ratio : INFINITY;
}

static bool find_pair_window(struct pair_window *out,
    const struct etx_first_pass_search *search, const struct etx_grid_hit *hit,
    const struct etx_grid_layer *layer, double max_curvature)
{
    const float *const beam = search->first_pass->beam;
    const double begin = (double)beam[0] - (double)beam[1];
    const double end = (double)beam[0] + (double)beam[1];
    double at[4];

    if (layer->is_barrel) {
        at[0] = line_at_radius(hit, begin, layer->min_radius);
        at[1] = line_at_radius(hit, begin, layer->max_radius);
        at[2] = line_at_radius(hit, end, layer->min_radius);
        at[3] = line_at_radius(hit, end, layer->max_radius);
    } else {
        at[0] = at[1] = line_at_z(hit, begin, layer->z) * (1.0 - DISC_MARGIN);
        at[2] = at[3] = line_at_z(hit, end, layer->z) * (1.0 + DISC_MARGIN);
        if (layer->z < 0.0) {
            at[0] = line_at_z(hit, end, layer->z) * (1.0 - DISC_MARGIN);
            at[2] = line_at_z(hit, begin, layer->z) * (1.0 + DISC_MARGIN);
        }
    }
    out->low = fmin(fmin(at[0], at[1]), fmin(at[2], at[3])) - MARGIN;
    out->high = fmax(fmax(at[0], at[1]), fmax(at[2], at[3])) + MARGIN;
    if (!(out->low < layer->high && out->high > layer->low))
        return false;
    out->outer =
        layer->is_barrel ? layer->max_radius : fmin(out->high, layer->high);
    const double inner_sine = 0.5 * max_curvature * (double)hit->radius;
    const double outer_sine = 0.5 * max_curvature * out->outer;
    out->width = asin(fmin(1.0, outer_sine)) - asin(fmin(1.0, inner_sine)) +
                 ANGLE_MARGIN;
    return out->width > 0.0;
}

int64_t etx_candidate_key(const struct etx_candidate *candidate)
{
    const float mean = candidate->distance / (float)candidate->n_hits;
    int32_t bits; /* of floats from 0 on: in their order */

    memcpy(&bits, &mean, sizeof bits);
    return -(int64_t)(candidate->n_hits + candidate->n_layers) *
               (INT64_C(1) << 32) +
           bits;
}

/* Insert a candidate among the best; earlier ones win ties. */
static void keep(
    struct etx_candidate *best, const struct etx_candidate *candidate)
{
    int32_t i = ETX_CANDIDATES_OF_HIT;

    while (i > 0 &&
           (best[i - 1].n_hits == 0 ||
               etx_candidate_key(candidate) < etx_candidate_key(&best[i - 1])))
        i--;
    if (i == ETX_CANDIDATES_OF_HIT)
        return;
    for (int32_t k = ETX_CANDIDATES_OF_HIT - 1; k > i; k--)
        best[k] = best[k - 1];
    best[i] = *candidate;
}

void etx_candidate_finish(struct etx_candidate *best,
    const struct etx_first_pass_search *search, struct etx_candidate *candidate)
{
    search->cache->n_candidates++;
    for (int32_t i = 0; i < candidate->n_hits; i++)
        candidate->layers |= UINT64_C(1)
                             << search->grid.row[candidate->hit[i]].layer;
    etx_candidate_extend(candidate, search);
    if (candidate->n_layers >= search->min_layers) {
        etx_candidate_fill(candidate, search);
        etx_candidate_add_overlaps(candidate, search);
        if ((double)candidate->random <= search->max_unrelated)
            keep(best, candidate);
    }
    search->cache->n_visits += candidate->n_visits;
}

/* Candidates of pair i with every third hit on the layer of a seed. */
static void add_third(struct etx_candidate *best,
    const struct etx_first_pass_search *search, const struct etx_pairs *pairs,
    const struct etx_pair_crossings *crossings, int32_t i, int64_t seed)
{
    const struct etx_first_pass *const table = search->first_pass;
    const struct etx_track_helix helix = etx_pair_helix(pairs, i);
    struct etx_layer_crossing crossing = etx_pair_crossing(crossings, i, &helix,
        &search->grid.layers[table->seed[seed * ETX_SEED_WIDTH + 2]]);
    const struct etx_grid_hit *hit;
    struct etx_candidate candidate;
    struct etx_grid_walk walk;
    double s;
    const double max_distance =
        etx_crossing_begin_near(&walk, &crossing, search, pairs->max_random);

    while (etx_candidate_is_allowed(search) &&
           (hit = etx_crossing_next(&walk, &crossing)) != NULL) {
        const double distance = etx_crossing_distance(&s, &crossing, hit);

        if (!(distance < max_distance))
            continue;
        etx_candidate_begin(&candidate, pairs->first, pairs->hit[i], hit->hit,
            (float)distance, (float)(distance * etx_random_hits_at(&crossing)),
            search->lacks_hit ? SEED_GAPS : 0);
        etx_candidate_finish(best, search, &candidate);
    }
    search->cache->n_visits += etx_grid_n_visited(&walk);
}

/* Where the pairs cross the third layer of a seed. */
static void cross_third(struct etx_pair_crossings *out,
    const struct etx_first_pass_search *search, const struct etx_pairs *pairs,
    int64_t seed)
{
    const struct etx_first_pass *const table = search->first_pass;
    const struct etx_grid_layer *const layer =
        &search->grid.layers[table->seed[seed * ETX_SEED_WIDTH + 2]];

    if (layer->n_hits == 0) {
        memset(out->is_crossed, 0, sizeof out->is_crossed);
        return;
    }
    for (int32_t i = 0; i < pairs->n; i++)
        out->window[i] =
            table->window[seed * ETX_COMPLETION_N_PT + pairs->bin[i]];
    search->pairs->cross(out, search, pairs, layer);
}

/* Candidates of the pairs, which are gone then, with the seeds begin ..
 * end - 1 of this pass, MAX_TOGETHER at most. */
static void add_thirds(struct etx_candidate *best,
    const struct etx_first_pass_search *search, struct etx_pairs *pairs,
    int64_t begin, int64_t end)
{
    const int64_t *const seed = search->seed;
    struct etx_pair_crossings crossings[MAX_TOGETHER];

    search->pairs->find_helices(pairs, search);
    for (int64_t k = begin; k < end; k++)
        cross_third(&crossings[k - begin], search, pairs, seed[k]);
    for (int32_t i = 0; i < pairs->n; i++)
        for (int64_t k = begin; k < end; k++)
            if (crossings[k - begin].is_crossed[i])
                add_third(
                    best, search, pairs, &crossings[k - begin], i, seed[k]);
    pairs->n = 0;
}

/* Candidates of the seeds begin .. end - 1 of this pass, which share their
 * first layers. */
static void add_pairs(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first, int64_t begin,
    int64_t end)
{
    const int64_t *const layers =
        search->first_pass->seed + search->seed[begin] * ETX_SEED_WIDTH;
    const struct etx_grid_hit *const hit = &search->grid.row[first];
    const struct etx_grid_layer *const layer = &search->grid.layers[layers[1]];
    const struct etx_grid_hit *second;
    struct pair_window window;
    struct etx_grid_walk walk;
    struct etx_pairs pairs;

    if (layer->n_hits == 0 ||
        !find_pair_window(&window, search, hit, layer, search->max_curvature))
        return;
    etx_grid_begin(&walk, layer, (double)hit->azimuth, window.width, window.low,
        window.high);
    etx_pairs_begin(&pairs, search, first, &walk);
    while (etx_candidate_is_allowed(search) &&
           (second = etx_grid_next(&walk)) != NULL) {
        etx_pairs_add(&pairs, second);
        if (pairs.n == ETX_PAIRS)
            add_thirds(best, search, &pairs, begin, end);
    }
    search->cache->n_visits += etx_grid_n_visited(&walk);
    add_thirds(best, search, &pairs, begin, end);
}

void etx_seed_candidates(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first)
{
    const int64_t *const table = search->first_pass->seed;
    const int64_t *const seed = search->seed;

    for (int32_t k = 0; k < ETX_CANDIDATES_OF_HIT; k++)
        best[k].n_hits = 0;
    for (int64_t begin = 0; begin < search->n_seeds;) {
        int64_t end = begin;

        while (
            end < search->n_seeds && end - begin < MAX_TOGETHER &&
            memcmp(table + seed[end] * ETX_SEED_WIDTH,
                table + seed[begin] * ETX_SEED_WIDTH, 2 * sizeof *table) == 0)
            end++;
        if (table[seed[begin] * ETX_SEED_WIDTH] ==
            search->grid.row[first].layer)
            add_pairs(best, search, first, begin, end);
        begin = end;
    }
}
