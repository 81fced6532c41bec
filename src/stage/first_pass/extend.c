/* stage/first_pass/extend.c -- a candidate gets the hits that follow.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/search.h"

#include "base/constants.h"

#include "stage/helix/arc.h"
#include "stage/helix/layer_crossing.h"

#include <string.h>

#define MAX_STEPS       16   /* layers that may follow one */
#define MIN_BEHIND_HOLE 2    /* hits that confirm it */
#define MAX_OVERLAP     30.0 /* mm, path between modules of one layer */
#define MIN_SLOPE       1e-3

static const float *position_of(
    const struct etx_first_pass_search *search, int32_t hit)
{
    return search->grid.row[hit].position;
}

/* The nearest hit, how near it is, and how many unrelated ones are expected as
 * near; NULL: there is none. Adds to *n_visits. */
static const struct etx_grid_hit *find_nearest(double *distance, double *random,
    int32_t *n_visits, const struct etx_layer_crossing *crossing,
    const struct etx_first_pass_search *search)
{
    struct etx_layer_crossing near = *crossing;
    const struct etx_grid_hit *best = NULL;
    const struct etx_grid_hit *hit;
    struct etx_grid_walk walk;
    double s;

    *distance =
        etx_crossing_begin_near(&walk, &near, search, search->max_random);
    while ((hit = etx_crossing_next(&walk, &near)) != NULL) {
        const double d = etx_crossing_distance(&s, &near, hit);

        if (d < *distance) {
            *distance = d;
            best = hit;
        }
    }
    *n_visits += etx_grid_n_visited(&walk);
    if (best != NULL)
        *random = etx_random_hits_at(crossing) * *distance;
    return best;
}

/* A layer that a helix may cross. */
struct layer_ahead {
    const struct etx_completion_window *window;
    const struct etx_grid_layer *layer;
    bool is_crossed;
    double s; /* mm, path: exact where it is crossed, else it is no shorter */
    struct etx_layer_crossing crossing;
};

/* The path from a helix to a layer, mm: exact to a disc, no longer than it is
 * to a barrel. */
static double path_to(
    const struct etx_grid_layer *layer, const struct etx_measured_helix *from)
{
    const struct etx_track_helix *const helix = &from->helix;

    if (!layer->is_barrel)
        return helix->slope != 0.0 ? (layer->z - helix->z) / helix->slope
                                   : INFINITY;
    return layer->radius > from->radius ? layer->radius - from->radius
                                        : -ETX_MAX_BACKWARD;
}

/* The layers that may follow that of the helix, and have no hit. Not the discs
 * beyond -ETX_MAX_DISC_PATH, which etx_cross_disc does not reach. */
static int32_t list_layers(struct layer_ahead ahead[MAX_STEPS],
    const struct etx_candidate *candidate,
    const struct etx_first_pass_search *search,
    const struct etx_measured_helix *from, int32_t layer)
{
    const struct etx_completion *const completion = search->completion;
    const int64_t *const begin = completion->begin[ETX_OUTWARD] + layer;
    int32_t n = 0;

    for (int64_t k = begin[0]; k < begin[1] && n < MAX_STEPS; k++) {
        const int32_t to = etx_completion_step_to(completion, k);
        const struct etx_grid_layer *const next = &search->grid.layers[to];

        const double s = path_to(next, from);

        if ((candidate->layers >> to & 1) != 0 || s < -ETX_MAX_DISC_PATH)
            continue;
        ahead[n].window =
            etx_completion_window(completion, k, ETX_HELIX_FREE, from->bin);
        ahead[n].layer = next;
        ahead[n].is_crossed = false;
        ahead[n].s = s;
        n++;
    }
    return n;
}

/* The next crossing along the path; NULL: there is none. Only layers that may
 * be the next are tried. */
static const struct etx_layer_crossing *next_crossing(
    struct layer_ahead ahead[MAX_STEPS], int32_t n,
    const struct etx_first_pass_search *search,
    const struct etx_measured_helix *helix)
{
    while (n > 0) {
        int32_t best = 0;

        for (int32_t i = 1; i < n; i++)
            if (ahead[i].s < ahead[best].s)
                best = i;
        struct layer_ahead *const next = &ahead[best];
        if (next->is_crossed) {
            next->s = INFINITY;
            next->is_crossed = false;
            return &next->crossing;
        }
        if (!(next->s < INFINITY))
            return NULL;
        next->is_crossed = etx_layer_cross(&next->crossing, search->completion,
            search->reach, helix, next->layer, next->window);
        next->s = next->is_crossed ? next->crossing.s : INFINITY;
    }
    return NULL;
}

/* The entry of a cache. */
static uint32_t entry_of(const int32_t hit[3])
{
    const uint32_t mix = (uint32_t)hit[0] * UINT32_C(2654435761) ^
                         (uint32_t)hit[1] * UINT32_C(2246822519) ^
                         (uint32_t)hit[2] * UINT32_C(3266489917);

    return (mix >> 16) % ETX_CACHED_STEPS;
}

/* The next hit of a candidate. A layer that the helix crosses well inside has
 * to have one, but for a few holes. */
static void find_next(struct etx_next_hit *out,
    const struct etx_candidate *candidate,
    const struct etx_first_pass_search *search)
{
    const int32_t *const last = candidate->hit + candidate->n_hits - 1;
    const struct etx_layer_crossing *crossing;
    struct layer_ahead ahead[MAX_STEPS];
    struct etx_measured_helix helix;
    int32_t n_holes = 0;

    *out = (struct etx_next_hit){.last = {last[-2], last[-1], last[0]},
        .n_holes = candidate->n_holes,
        .layers = candidate->layers,
        .hit = -1};
    if (!etx_track_helix_through(&helix.helix, position_of(search, last[-2]),
            position_of(search, last[-1]), position_of(search, last[0])))
        return;
    etx_helix_measure(&helix, search->completion);
    const int32_t n = list_layers(
        ahead, candidate, search, &helix, search->grid.row[last[0]].layer);
    while ((crossing = next_crossing(ahead, n, search, &helix)) != NULL) {
        double distance, random;
        const struct etx_grid_hit *const hit =
            find_nearest(&distance, &random, &out->n_visits, crossing, search);

        if (hit != NULL) {
            out->hit = hit->hit;
            out->n_more_holes = n_holes;
            out->distance = (float)distance;
            out->random = (float)random;
            return;
        }
        if (crossing->is_inside &&
            candidate->n_holes + ++n_holes > search->max_holes)
            return;
    }
}

/* Add the next hit; false: the track ends. */
static bool add_next(
    struct etx_candidate *candidate, const struct etx_first_pass_search *search)
{
    const int32_t *const last = candidate->hit + candidate->n_hits - 3;
    struct etx_next_hit *const next = &search->cache->next[entry_of(last)];

    if (memcmp(next->last, last, sizeof next->last) != 0 ||
        next->n_holes != candidate->n_holes ||
        next->layers != candidate->layers)
        find_next(next, candidate, search);
    candidate->n_visits += next->n_visits;
    if (next->hit < 0)
        return false;
    if (next->n_more_holes > 0)
        candidate->gaps |= UINT32_C(1) << candidate->n_hits;
    candidate->n_holes += next->n_more_holes;
    candidate->layers |= UINT64_C(1) << search->grid.row[next->hit].layer;
    candidate->hit[candidate->n_hits++] = next->hit;
    candidate->distance += next->distance;
    candidate->random *= next->random;
    return true;
}

void etx_candidate_extend(
    struct etx_candidate *candidate, const struct etx_first_pass_search *search)
{
    struct etx_candidate whole = *candidate; /* without holes */

    while (candidate->n_hits < ETX_CANDIDATE_MAX_LAYERS &&
           add_next(candidate, search))
        if (candidate->n_holes == 0)
            whole = *candidate;
    if (candidate->n_hits - whole.n_hits < MIN_BEHIND_HOLE)
        *candidate = whole;
    candidate->n_layers = candidate->n_hits;
}

/* -------------------------------------------------------------------- gaps --
 */

/* Add a hit between hits k - 1 and k, near the helix through k and the two
 * after it; without these, through k - 1 and the two before it. */
static void fill_gap(struct etx_candidate *candidate,
    const struct etx_first_pass_search *search, int32_t k)
{
    const struct etx_completion *const completion = search->completion;
    const bool is_inward = k + 2 < candidate->n_layers;
    const int32_t side = is_inward ? 1 : -1;
    const int32_t *const hit = candidate->hit + (is_inward ? k : k - 1);
    const int64_t *const begin =
        completion->begin[is_inward ? ETX_INWARD : ETX_OUTWARD];
    const int32_t from = search->grid.row[hit[0]].layer;
    const float *const end = position_of(search, hit[-side]);
    struct etx_layer_crossing crossing;
    struct etx_measured_helix helix;

    if ((!is_inward && k < 3) ||
        !etx_track_helix_through(&helix.helix,
            position_of(search, hit[2 * side]), position_of(search, hit[side]),
            position_of(search, hit[0])))
        return;
    etx_helix_measure(&helix, completion);
    const double length =
        hypot((double)end[0] - helix.helix.x, (double)end[1] - helix.helix.y);
    for (int64_t step = begin[from]; step < begin[from + 1]; step++) {
        const int32_t to = etx_completion_step_to(completion, step);
        double distance, random;
        const struct etx_grid_hit *found;

        if ((candidate->layers >> to & 1) != 0 ||
            !etx_layer_cross(&crossing, completion, search->reach, &helix,
                &search->grid.layers[to],
                etx_completion_window(
                    completion, step, ETX_HELIX_FREE, helix.bin)) ||
            !(crossing.s > 0.0 && crossing.s < length))
            continue;
        found = find_nearest(
            &distance, &random, &candidate->n_visits, &crossing, search);
        if (found == NULL)
            continue;
        memmove(candidate->hit + k + 1, candidate->hit + k,
            (size_t)(candidate->n_layers - k) * sizeof *hit);
        candidate->hit[k] = found->hit;
        candidate->layers |= UINT64_C(1) << to;
        candidate->distance += (float)distance;
        candidate->random *= (float)random;
        candidate->n_layers = ++candidate->n_hits;
        return;
    }
}

void etx_candidate_fill(
    struct etx_candidate *candidate, const struct etx_first_pass_search *search)
{
    for (int32_t k = candidate->n_layers - 1;
         k > 0 && candidate->n_layers < ETX_CANDIDATE_MAX_LAYERS; k--)
        if ((candidate->gaps >> k & 1) != 0)
            fill_gap(candidate, search, k);
}

/* ---------------------------------------------------------------- overlaps --
 */

/* The hits around the one that the helix is at. */
static void cross_own_layer(struct etx_layer_crossing *out,
    const struct etx_track_helix *helix, const struct etx_grid_layer *layer,
    const struct etx_completion_window *window, const struct etx_grid_hit *at,
    double reach)
{
    const double radius = sqrt(helix->x * helix->x + helix->y * helix->y);
    const double outward =
        fabs(helix->x * helix->tangent_x + helix->y * helix->tangent_y) /
        radius;
    const double sideways =
        fabs(helix->x * helix->tangent_y - helix->y * helix->tangent_x) /
        radius;
    const double path = fmin(MAX_OVERLAP,
        layer->is_barrel ? (layer->max_radius - layer->min_radius) /
                               fmax(outward, ETX_MIN_OUTWARD)
                         : (layer->max_z - layer->min_z) /
                               fmax(fabs(helix->slope), MIN_SLOPE));

    *out = (struct etx_layer_crossing){.helix = helix,
        .layer = layer,
        .window = window,
        .curvature = helix->curvature,
        .across = layer->is_barrel ? helix->z : radius,
        .tolerance = reach * (double)window->longitudinal +
                     ETX_CROSSING_MARGIN +
                     path * (layer->is_barrel ? fabs(helix->slope) : 1.0),
        .azimuth = (double)at->azimuth,
        .width =
            (reach * (double)window->transverse + path * sideways) / radius +
            ETX_AZIMUTH_MARGIN};
}

struct near_hits {
    const struct etx_grid_hit *hit[2];
    double distance[2];
};

static void offer(
    struct near_hits *near, const struct etx_grid_hit *hit, double distance)
{
    const struct etx_grid_hit *const best = near->hit[0];

    if (distance < near->distance[0]) {
        if (best != NULL && best->module != hit->module) {
            near->hit[1] = best;
            near->distance[1] = near->distance[0];
        }
        near->hit[0] = hit;
        near->distance[0] = distance;
    } else if (distance < near->distance[1] && best != NULL &&
               best->module != hit->module) {
        near->hit[1] = hit;
        near->distance[1] = distance;
    }
}

/* The other hits on the layer of one of three hits. */
static void find_overlaps(struct etx_overlap *out, const int32_t around[3],
    int32_t at, const struct etx_first_pass_search *search)
{
    const double max_distance = search->max_distance;
    const int32_t layer = search->grid.row[around[at]].layer;
    const int32_t module = search->grid.row[around[at]].module;
    struct near_hits near = {.distance = {max_distance, max_distance}};
    const struct etx_completion_window *window;
    const struct etx_grid_hit *other;
    struct etx_layer_crossing crossing;
    struct etx_track_helix helix;
    struct etx_grid_walk walk;
    double s;

    *out = (struct etx_overlap){
        .around = {around[0], around[1], around[2]}, .at = at, .hit = {-1, -1}};
    if (search->grid.layers[layer].n_hits == 0 ||
        !etx_track_helix_at(&helix,
            (const float *const[]){position_of(search, around[0]),
                position_of(search, around[1]), position_of(search, around[2])},
            at, ETX_ARC_MAX_SINE))
        return;
    const int32_t bin = etx_completion_pt_bin(
        &helix, etx_completion_measured_field(search->completion, &helix));
    window = etx_window_between(search->completion, layer, layer, bin);
    if (window == NULL)
        return;
    cross_own_layer(&crossing, &helix, &search->grid.layers[layer], window,
        &search->grid.row[around[at]], search->reach);
    etx_crossing_begin(&walk, &crossing);
    while ((other = etx_crossing_next(&walk, &crossing)) != NULL)
        if (other->module != module)
            offer(&near, other, etx_crossing_distance(&s, &crossing, other));
    out->n_visits = etx_grid_n_visited(&walk);
    for (int32_t i = 0; i < 2; i++)
        if (near.hit[i] != NULL) {
            out->hit[i] = near.hit[i]->hit;
            out->distance[i] = near.distance[i];
            out->random[i] = near.distance[i] * etx_random_hits_at(&crossing);
        }
}

static void add_once(struct etx_candidate *candidate, int32_t hit,
    double distance, double random)
{
    if (candidate->n_hits == ETX_CANDIDATE_MAX_HITS)
        return;
    for (int32_t i = 0; i < candidate->n_hits; i++)
        if (candidate->hit[i] == hit)
            return;
    candidate->hit[candidate->n_hits++] = hit;
    candidate->distance += (float)distance;
    candidate->random *= (float)random;
}

void etx_candidate_add_overlaps(
    struct etx_candidate *candidate, const struct etx_first_pass_search *search)
{
    int32_t hit[ETX_CANDIDATE_MAX_LAYERS]; /* one on each layer */
    const int32_t n = candidate->n_layers;
    struct etx_overlap own = {.around = {-1, -1, -1}};

    memcpy(hit, candidate->hit, (size_t)n * sizeof *hit);
    for (int32_t k = 0; k < n; k++) {
        const int32_t at = k == 0 ? 0 : k == n - 1 ? 2 : 1;
        const int32_t *const around = hit + k - at;
        struct etx_overlap *const overlap =
            search->cache == NULL ? &own
                                  : &search->cache->overlap[entry_of(around)];

        if (overlap->at != at ||
            memcmp(overlap->around, around, sizeof overlap->around) != 0)
            find_overlaps(overlap, around, at, search);
        candidate->n_visits += overlap->n_visits;
        for (int32_t i = 0; i < 2; i++)
            if (overlap->hit[i] >= 0)
                add_once(candidate, overlap->hit[i], overlap->distance[i],
                    overlap->random[i]);
    }
}
