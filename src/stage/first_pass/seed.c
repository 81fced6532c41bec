/* stage/first_pass/seed.c -- the innermost three hits of a candidate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/search.h"

#include "base/constants.h"

#include "stage/first_pass/arc.h"
#include "stage/track_building/completion.h"

#include <string.h>

#define MIN_CHORD    1.0  /* mm */
#define MARGIN       5.0  /* mm */
#define DISC_MARGIN  0.02 /* of the radius */
#define ANGLE_MARGIN 2e-3 /* rad */

bool etx_seed_helix(
    struct etx_track_helix *out, double *z, const float *a, const float *b)
{
    const double a_x = (double)a[0];
    const double a_y = (double)a[1];
    const double x = (double)b[0] - a_x;
    const double y = (double)b[1] - a_y;
    const double length = sqrt(x * x + y * y);
    const double inner = sqrt(a_x * a_x + a_y * a_y);
    const double outer =
        sqrt((double)b[0] * (double)b[0] + (double)b[1] * (double)b[1]);

    if (length < MIN_CHORD || !(inner > 0.0) || !(outer > 0.0))
        return false;
    /* The circle through the beam line (Menger). */
    out->curvature = 2.0 * (a_x * (double)b[1] - a_y * (double)b[0]) /
                     (inner * outer * length);
    const double sine = 0.5 * out->curvature * length;
    const double first = 0.5 * out->curvature * inner;
    if (fabs(sine) > ETX_ARC_MAX_SINE || fabs(first) > ETX_ARC_MAX_SINE)
        return false;
    const double cosine = sqrt(1.0 - sine * sine);
    out->x = (double)b[0];
    out->y = (double)b[1];
    out->z = (double)b[2];
    out->tangent_x = (x * cosine - y * sine) / length;
    out->tangent_y = (y * cosine + x * sine) / length;
    out->slope = ((double)b[2] - (double)a[2]) /
                 (length * etx_arc_by_chord(sine * sine));
    out->z_middle = 0.5 * (double)b[2];
    *z = (double)a[2] - out->slope * inner * etx_arc_by_chord(first * first);
    return true;
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

/* Candidates of a pair with every third hit on one layer. */
static void add_third(struct etx_candidate *best,
    const struct etx_first_pass_search *search,
    const struct etx_track_helix *helix, int32_t bin, const int32_t pair[2],
    int64_t seed)
{
    const int64_t *const layers =
        search->first_pass->seed + seed * ETX_SEED_WIDTH;
    const struct etx_grid_hit *hit;
    struct etx_layer_crossing crossing;
    struct etx_grid_walk walk;

    if (!etx_layer_cross(&crossing, search, helix, (int32_t)layers[2],
            &search->first_pass->window[seed * ETX_COMPLETION_N_PT + bin]))
        return;
    etx_grid_begin(&walk, crossing.layer, crossing.azimuth, crossing.width,
        crossing.across - crossing.tolerance,
        crossing.across + crossing.tolerance);
    while ((hit = etx_grid_next(&walk)) != NULL) {
        const double distance = etx_crossing_distance(&crossing, hit);

        if (!(distance < (double)search->options->max_distance))
            continue;
        struct etx_candidate candidate = {.n_hits = 3,
            .distance = (float)distance,
            .hit = {pair[0], pair[1], hit->hit}};
        etx_candidate_extend(&candidate, search);
        if (candidate.n_layers < search->options->min_layers)
            continue;
        etx_candidate_add_overlaps(&candidate, search);
        keep(best, &candidate);
    }
}

/* Candidates of the seeds begin .. end - 1, which share their first layers. */
static void add_pairs(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first, int64_t begin,
    int64_t end)
{
    const struct etx_first_pass *const first_pass = search->first_pass;
    const float *const position = search->event->position;
    const struct etx_grid_hit *const hit = &search->grid.row[first];
    const struct etx_grid_layer *const layer =
        &search->grid.layers[first_pass->seed[begin * ETX_SEED_WIDTH + 1]];
    const double max_curvature = search->max_curvature;
    const struct etx_grid_hit *second;
    struct pair_window window;
    struct etx_grid_walk walk;

    if (layer->n_hits == 0 ||
        !find_pair_window(&window, search, hit, layer, max_curvature))
        return;
    etx_grid_begin(&walk, layer, (double)hit->azimuth, window.width, window.low,
        window.high);
    while ((second = etx_grid_next(&walk)) != NULL) {
        const int32_t pair[2] = {first, second->hit};
        struct etx_track_helix helix;
        double z;

        if (!etx_seed_helix(&helix, &z, position + 3 * (int64_t)first,
                position + 3 * (int64_t)second->hit) ||
            fabs(helix.curvature) > max_curvature ||
            fabs(z - (double)first_pass->beam[0]) > (double)first_pass->beam[1])
            continue;
        const int32_t bin = etx_completion_pt_bin(search->completion, &helix);
        for (int64_t k = begin; k < end; k++)
            add_third(best, search, &helix, bin, pair, k);
    }
}

void etx_seed_candidates(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first)
{
    const int64_t *const seed = search->first_pass->seed;
    const int64_t n = search->first_pass->n_seeds;

    for (int32_t k = 0; k < ETX_CANDIDATES_OF_HIT; k++)
        best[k].n_hits = 0;
    for (int64_t begin = 0; begin < n;) {
        int64_t end = begin;

        while (end < n &&
               memcmp(seed + end * ETX_SEED_WIDTH,
                   seed + begin * ETX_SEED_WIDTH, 2 * sizeof *seed) == 0)
            end++;
        if (seed[begin * ETX_SEED_WIDTH] == search->layer[first])
            add_pairs(best, search, first, begin, end);
        begin = end;
    }
}
