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
#define ROUNDING     1e-6
#define SEED_GAPS    6u /* before the second or the third hit */

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

/* Quick: the circle through the beam line and both hits bends too much, or the
 * helix begins beyond the beam; arcs are longer than their chords by less than
 * a quarter of the square of half the angle. */
static bool is_hopeless(const struct etx_first_pass_search *search,
    const struct etx_grid_hit *first, const struct etx_grid_hit *second)
{
    const float *const beam = search->first_pass->beam;
    const double a_x = (double)first->x;
    const double a_y = (double)first->y;
    const double x = (double)second->x - a_x;
    const double y = (double)second->y - a_y;
    const double square = x * x + y * y;
    const double inner = (double)first->radius;
    const double outer = (double)second->radius;
    const double cross = a_x * y - a_y * x;
    const double bound = search->max_curvature * inner * outer;
    const double rise = ((double)second->z - (double)first->z) * inner;
    const double longer = search->max_curvature * search->max_curvature *
                          fmax(square, inner * inner) / 16.0;

    const double least = search->min_curvature * inner * outer;
    if (4.0 * cross * cross > bound * bound * square * (1.0 + ROUNDING) ||
        (least > 0.0 &&
            4.0 * cross * cross < least * least * square * (1.0 - ROUNDING)))
        return true;
    const double length = sqrt(square);
    return longer < 0.2 &&
           fabs(((double)first->z - (double)beam[0]) * length - rise) >
               (double)beam[1] * length * (1.0 + ROUNDING) +
                   (longer + ROUNDING) * fabs(rise);
}

void etx_candidate_finish(struct etx_candidate *best,
    const struct etx_first_pass_search *search, struct etx_candidate *candidate)
{
    for (int32_t i = 0; i < candidate->n_hits; i++)
        candidate->layers |= UINT64_C(1) << search->layer[candidate->hit[i]];
    etx_candidate_extend(candidate, search);
    if (candidate->n_layers < search->min_layers)
        return;
    etx_candidate_fill(candidate, search);
    etx_candidate_add_overlaps(candidate, search);
    if ((double)candidate->distance <=
        search->max_mean * (double)candidate->n_hits)
        keep(best, candidate);
}

/* A pair of hits from the beam line, and its helix at the second. */
struct pair {
    int32_t hit[2];
    struct etx_track_helix helix;
    double radius; /* mm, of the second */
    int32_t bin;   /* of transverse momentum */
};

/* Candidates of a pair with every third hit on one layer. */
static void add_third(struct etx_candidate *best,
    const struct etx_first_pass_search *search, const struct pair *pair,
    int64_t seed)
{
    const struct etx_first_pass *const table = search->first_pass;
    const int64_t *const layers = table->seed + seed * ETX_SEED_WIDTH;
    const struct etx_grid_hit *hit;
    struct etx_layer_crossing crossing;
    struct etx_grid_walk walk;

    if (!etx_layer_cross(&crossing, search, &pair->helix, pair->radius,
            (int32_t)layers[2],
            &table->window[seed * ETX_COMPLETION_N_PT + pair->bin]))
        return;
    etx_grid_begin(&walk, crossing.layer, crossing.azimuth, crossing.width,
        crossing.across - crossing.tolerance,
        crossing.across + crossing.tolerance);
    while ((hit = etx_grid_next(&walk)) != NULL) {
        const double distance = etx_crossing_distance(&crossing, hit);

        if (!(distance < search->max_distance))
            continue;
        struct etx_candidate candidate = {.n_hits = ETX_SEED_LAYERS,
            .gaps = search->lacks_hit ? SEED_GAPS : 0,
            .distance = (float)distance,
            .hit = {pair->hit[0], pair->hit[1], hit->hit}};
        etx_candidate_finish(best, search, &candidate);
    }
}

/* false: they are no pair from the beam line. */
static bool make_pair(struct pair *out,
    const struct etx_first_pass_search *search, int32_t first,
    const struct etx_grid_hit *second)
{
    const float *const position = search->event->position;
    const float *const beam = search->first_pass->beam;
    double z;

    if (is_hopeless(search, &search->grid.row[first], second) ||
        !etx_seed_helix(&out->helix, &z, position + 3 * (int64_t)first,
            position + 3 * (int64_t)second->hit) ||
        fabs(out->helix.curvature) > search->max_curvature ||
        fabs(out->helix.curvature) <= search->min_curvature ||
        fabs(z - (double)beam[0]) > (double)beam[1])
        return false;
    out->hit[0] = first;
    out->hit[1] = second->hit;
    out->radius = (double)second->radius;
    out->bin = etx_completion_pt_bin(search->completion, &out->helix);
    return true;
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
    struct pair pair;

    if (layer->n_hits == 0 ||
        !find_pair_window(&window, search, hit, layer, search->max_curvature))
        return;
    etx_grid_begin(&walk, layer, (double)hit->azimuth, window.width, window.low,
        window.high);
    while ((second = etx_grid_next(&walk)) != NULL)
        if (make_pair(&pair, search, first, second))
            for (int64_t k = begin; k < end; k++)
                add_third(best, search, &pair, search->seed[k]);
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
            end < search->n_seeds &&
            memcmp(table + seed[end] * ETX_SEED_WIDTH,
                table + seed[begin] * ETX_SEED_WIDTH, 2 * sizeof *table) == 0)
            end++;
        if (table[seed[begin] * ETX_SEED_WIDTH] == search->layer[first])
            add_pairs(best, search, first, begin, end);
        begin = end;
    }
}
