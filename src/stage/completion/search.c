/* stage/completion/search.c -- the best step on from an end.
 *
 * For every layer that may follow, the helix predicts azimuth and z (or
 * radius); hits of the layer are in bins of both, so those in a window
 * around the prediction are short runs. Each is judged at its own radius or z
 * by
 *
 *     d^2 = (transverse / window)^2 + (longitudinal / window)^2
 *
 * and by the number of unrelated hits expected as near as it: the density of
 * hits without a track, times the area of that ellipse. The cost of a step is
 * this number, with small terms for d^2 and for the path, so that layers are
 * not skipped.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/completion/search.h"

#include <float.h>
#include <math.h>

#define N_TAIL        8 /* hits from an end that are looked at */
#define DISTANCE_COST 1.25e-3
#define PATH_COST     5e-4 /* 1/mm */
#define JOIN_FACTOR   0.2  /* an end of a track is no random hit */
/* Unrelated hits expected nearer than the end of another track: it costs more
 * than any hit, and the tracks never belong together. */
#define MAX_JOIN_RANDOM 8.0

/* One end of a track. */
struct track_end {
    int32_t track, direction;
    int32_t hit;   /* the last one */
    int32_t layer; /* of that hit */
};

/* The last hits of three layers that follow each other, the end first. */
static bool find_points(const float *point[3],
    const struct etx_completion_search *search, int32_t track,
    int32_t direction)
{
    const struct etx_hit_chains *const chains = &search->chains;
    const int32_t *const back =
        direction == ETX_OUTWARD ? chains->previous : chains->next;
    int32_t i = chains->end[direction][track];
    int32_t last = -1;
    int32_t n = 0;

    for (int32_t k = 0; k < N_TAIL && i >= 0; k++, i = back[i]) {
        const struct etx_grid_hit *const hit = &search->grid->row[i];

        if (hit->layer < 0)
            return false;
        if (hit->layer == last)
            continue;
        last = hit->layer;
        point[n++] = hit->position;
        if (n == 3)
            return true;
    }
    return false;
}

/* The helices at an end, and whether there are any. */
static void find_helices(struct etx_measured_helix helix[ETX_N_HELICES],
    bool has[ETX_N_HELICES], const struct etx_completion_search *search,
    int32_t track, int32_t direction)
{
    struct etx_measured_helix *const line = &helix[ETX_HELIX_FREE];
    struct etx_measured_helix *const beam = &helix[ETX_HELIX_BEAM];
    const float *point[3];

    has[ETX_HELIX_FREE] =
        find_points(point, search, track, direction) &&
        etx_track_helix_through(&line->helix, point[2], point[1], point[0]);
    has[ETX_HELIX_BEAM] = false;
    if (!has[ETX_HELIX_FREE])
        return;
    beam->helix = line->helix;
    etx_helix_measure(line, search->completion);
    if (direction == ETX_INWARD &&
        etx_track_helix_towards_beam(&beam->helix, point[2])) {
        etx_helix_measure(beam, search->completion);
        has[ETX_HELIX_BEAM] = true;
    }
}

/* Whether a step to this hit is possible at all, and to which track. */
static bool is_candidate(int32_t *track,
    const struct etx_completion_search *search, const struct track_end *end,
    bool is_same, const struct etx_grid_hit *hit)
{
    const struct etx_hit_chains *const chains = &search->chains;
    const int32_t other = ETX_OUTWARD + ETX_INWARD - end->direction;

    *track = chains->label[hit->hit];
    if (*track == end->track)
        return false;
    if (is_same && hit->module == search->grid->row[end->hit].module)
        return false;
    return *track < 0 || (chains->n_hits[*track] >= 3 &&
                             chains->end[other][*track] == hit->hit);
}

/* Compare one hit with the best step so far; true when it is better. */
static bool judge_hit(struct etx_completion_proposal *best,
    const struct etx_completion_search *search, const struct track_end *end,
    const struct etx_layer_crossing *crossing, const struct etx_grid_hit *at)
{
    const etx_completion_options *const options = search->options;
    const bool is_same = at->layer == end->layer;
    int32_t track;
    double s;

    if (!is_candidate(&track, search, end, is_same, at))
        return false;
    const double distance = etx_crossing_distance(&s, crossing, at);
    if (!(distance <=
            (double)(track < 0 ? options->max_distance : options->max_join)))
        return false;
    const double density =
        etx_grid_density(crossing->layer, etx_grid_across(crossing->layer, at));
    const double n_random =
        distance * etx_window_random_hits(crossing->window, density);
    if (n_random > (track < 0 ? (double)options->max_random : MAX_JOIN_RANDOM))
        return false;
    const double cost = (track < 0 ? n_random : JOIN_FACTOR * n_random) +
                        DISTANCE_COST * distance +
                        (is_same ? 0.0 : PATH_COST * fmax(0.0, s));
    if (!(cost < (double)best->cost))
        return false;
    *best = (struct etx_completion_proposal){
        .cost = (float)cost, .hit = at->hit, .track = track};
    return true;
}

/* Begin a walk over the hits near a crossing, where it is dense only over those
 * that are near enough for judge_hit wherever they lie in the window. */
static void begin_walk(struct etx_grid_walk *walk,
    const struct etx_completion_search *search,
    struct etx_layer_crossing *crossing)
{
    const struct etx_grid_layer *const layer = crossing->layer;
    const double max_random =
        fmax(MAX_JOIN_RANDOM, (double)search->options->max_random);
    const double max_distance = (double)search->options->max_distance;

    if (max_distance *
            etx_window_random_hits(crossing->window, layer->max_density) >
        max_random) {
        const double least = etx_grid_least_density(layer,
            crossing->across - crossing->tolerance,
            crossing->across + crossing->tolerance);
        const double distance =
            max_random / etx_window_random_hits(crossing->window, least);

        if (distance < max_distance)
            etx_crossing_shrink(crossing, search->reach, sqrt(distance));
    }
    etx_crossing_begin(walk, crossing);
}

/* The hits near the helix on the layer of a step; true when one is better. */
static bool search_layer(struct etx_completion_proposal *best,
    const struct etx_completion_search *search, const struct track_end *end,
    const struct etx_measured_helix *helix, int32_t kind, int64_t step)
{
    const struct etx_completion *const completion = search->completion;
    struct etx_layer_crossing crossing;
    const struct etx_grid_hit *hit;
    struct etx_grid_walk walk;
    bool is_better = false;

    if (!etx_layer_cross(&crossing, completion, search->reach, helix,
            &search->grid[end->direction]
                 .layers[etx_completion_step_to(completion, step)],
            etx_completion_window(completion, step, kind, helix->bin)))
        return false;
    begin_walk(&walk, search, &crossing);
    while ((hit = etx_crossing_next(&walk, &crossing)) != NULL)
        is_better |= judge_hit(best, search, end, &crossing, hit);
    return is_better;
}

void etx_completion_propose(struct etx_completion_proposal *out,
    const struct etx_completion_search *search, int32_t track,
    int32_t direction)
{
    const struct etx_completion *const completion = search->completion;
    const int32_t hit = search->chains.end[direction][track];
    const struct track_end end = {
        track, direction, hit, search->grid->layer[hit]};
    struct etx_measured_helix helix[ETX_N_HELICES];
    bool has[ETX_N_HELICES];

    *out = (struct etx_completion_proposal){
        .cost = FLT_MAX, .hit = -1, .track = -1};
    find_helices(helix, has, search, track, direction);
    if (!has[ETX_HELIX_FREE])
        return;
    const int64_t *const begin = completion->begin[direction] + end.layer;
    for (int64_t k = begin[0]; k < begin[1]; k++) {
        bool is_found = false;

        /* The free helix only where the beam line leads to no better hit. */
        for (int32_t kind = ETX_N_HELICES - 1; kind >= 0 && !is_found; kind--)
            is_found = has[kind] &&
                       search_layer(out, search, &end, &helix[kind], kind, k);
    }
}

bool etx_completion_meets(const struct etx_completion_search *search,
    int32_t track, int32_t direction, int32_t hit)
{
    const struct etx_completion *const completion = search->completion;
    const float *const at = search->grid->row[hit].position;
    const int32_t end = search->chains.end[direction][track];
    const int32_t layer = search->grid->layer[hit];
    struct etx_measured_helix helix[ETX_N_HELICES];
    bool has[ETX_N_HELICES];
    struct etx_residual residual;

    find_helices(helix, has, search, track, direction);
    if (!has[ETX_HELIX_FREE])
        return false;
    const struct etx_completion_window *const window = etx_step_window(
        completion, direction, search->grid->layer[end], layer, helix->bin);
    const double curvature = etx_completion_curvature(completion, &helix->helix,
        helix->field, 0.5 * (helix->helix.z + (double)at[2]));
    return window != NULL &&
           etx_helix_residual(&residual, &helix->helix, curvature, at,
               etx_completion_is_barrel(completion, layer)) &&
           etx_residual_distance(&residual, window) <
               (double)search->options->max_join;
}
