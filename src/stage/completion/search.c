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

#include "base/constants.h"
#include "stage/helix/arc.h"

#include <float.h>
#include <math.h>

#define N_TAIL        8    /* hits from an end that are looked at */
#define MAX_WINDOW    25.0 /* mm; wider ones tell nothing */
#define DISTANCE_COST 1.25e-3
#define PATH_COST     5e-4 /* 1/mm */
#define JOIN_FACTOR   0.2  /* an end of a track is no random hit */
#define MAX_BACKWARD  12.0 /* mm, to a hit of the same layer */
#define MIN_SLOPE     1e-4
#define MIN_RADIUS    20.0 /* mm */
#define MAX_TURN      2.5  /* rad */
#define MAX_DISC_PATH 30.0 /* mm, between the modules of a disc */
#define MARGIN        1.0  /* mm */
#define PHI_MARGIN    1e-3 /* rad */

/* One end of a track. */
struct track_end {
    int32_t track, direction;
    int32_t hit;   /* the last one */
    int32_t layer; /* of that hit */
};

/* Its helix, and what follows from the helix alone. */
struct end_helix {
    struct etx_track_helix helix;
    double measured_field; /* T */
    double radius;         /* mm, of its hit */
    int32_t bin;           /* of transverse momentum */
};

/* One helix, on its way to one layer. */
struct crossing {
    const struct end_helix *end;
    const struct etx_track_helix *helix;
    const struct etx_completion_window *window;
    const struct etx_grid_layer *layer;
    bool is_same;     /* the layer of the end */
    double curvature; /* on the way there */
    double s;         /* path length to the middle of the layer, mm */
    double across;    /* predicted z or radius, mm */
    double tolerance; /* of across */
    double phi;       /* predicted */
    double phi_width;
};

/* The last hits of a track up to its end; returns how many. */
static int32_t tail_of(int32_t hit[N_TAIL], const struct etx_hit_chains *chains,
    int32_t track, int32_t direction)
{
    const int32_t *const back =
        direction == ETX_OUTWARD ? chains->previous : chains->next;
    int32_t n = 0;

    for (int32_t i = chains->end[direction][track]; i >= 0 && n < N_TAIL;
         i = back[i])
        hit[N_TAIL - ++n] = i;
    return n;
}

static bool find_end_helix(struct end_helix *out, int32_t kind,
    const struct etx_completion_search *search, int32_t track,
    int32_t direction)
{
    struct etx_track_helix *const helix = &out->helix;
    int32_t hit[N_TAIL];
    const int32_t n = tail_of(hit, &search->chains, track, direction);

    if (!etx_completion_helix(helix, kind, search->event->position,
            search->grid.layer, hit + N_TAIL - n, n))
        return false;
    out->measured_field =
        etx_completion_measured_field(search->completion, helix);
    out->radius = sqrt(helix->x * helix->x + helix->y * helix->y);
    out->bin = etx_completion_pt_bin_in(helix, out->measured_field);
    return true;
}

static double curvature_near(const struct etx_completion_search *search,
    const struct end_helix *end, double z)
{
    return etx_completion_curvature_in(
        search->completion, &end->helix, end->measured_field, z);
}

/* The path to the middle of a barrel layer, and z there. */
static bool cross_barrel(
    struct crossing *crossing, const struct etx_completion_search *search)
{
    const struct etx_track_helix *const helix = crossing->helix;
    const struct etx_grid_layer *const layer = crossing->layer;

    crossing->s = 0.0;
    if (!crossing->is_same) {
        crossing->s = fabs(layer->radius - crossing->end->radius);
        if (!etx_track_helix_reach(
                &crossing->s, helix, helix->curvature, layer->radius))
            return false;
    }
    crossing->across = helix->z + helix->slope * crossing->s;
    crossing->curvature = curvature_near(
        search, crossing->end, 0.5 * (helix->z + crossing->across));
    crossing->tolerance +=
        1.2 * fabs(helix->slope) * (layer->max_radius - layer->min_radius);
    return crossing->across > layer->min_z - crossing->tolerance &&
           crossing->across < layer->max_z + crossing->tolerance;
}

/* The path to the middle of a disc. */
static bool cross_disc(
    struct crossing *crossing, const struct etx_completion_search *search)
{
    const struct etx_track_helix *const helix = crossing->helix;
    const struct etx_grid_layer *const layer = crossing->layer;
    const double z = crossing->is_same ? helix->z : layer->z;

    if (fabs(helix->slope) < MIN_SLOPE)
        return false;
    crossing->s = (z - helix->z) / helix->slope;
    if (crossing->s < -MAX_DISC_PATH)
        return false;
    crossing->curvature =
        curvature_near(search, crossing->end, 0.5 * (helix->z + z));
    crossing->tolerance +=
        0.75 * (layer->max_z - layer->min_z) / fabs(helix->slope);
    return fabs(crossing->curvature * crossing->s) < MAX_TURN;
}

/* Azimuth at the middle of the layer, and how much it changes inside. */
static bool predict_azimuth(struct crossing *crossing, double reach)
{
    const struct etx_track_helix *const helix = crossing->helix;
    const struct etx_grid_layer *const layer = crossing->layer;
    const double depth =
        crossing->layer->is_barrel
            ? layer->max_radius - layer->min_radius
            : fmin(MAX_DISC_PATH,
                  (layer->max_z - layer->min_z) / fabs(helix->slope));
    double x, y;

    etx_track_helix_point(&x, &y, helix, crossing->curvature, crossing->s);
    const double radius = sqrt(x * x + y * y);
    if (!(radius > MIN_RADIUS))
        return false;
    if (!crossing->layer->is_barrel) {
        crossing->across = radius;
        if (radius < layer->min_radius - crossing->tolerance ||
            radius > layer->max_radius + crossing->tolerance)
            return false;
    }
    crossing->phi = (double)etx_arc_azimuth((float)y, (float)x);
    etx_track_helix_point(
        &x, &y, helix, crossing->curvature, crossing->s + depth);
    crossing->phi_width =
        reach * (double)crossing->window->transverse / radius +
        fabs(etx_wrap_angle(
            (double)etx_arc_azimuth((float)y, (float)x) - crossing->phi)) +
        PHI_MARGIN;
    return true;
}

/* Where the helix crosses a layer; false: it does not, or nothing is known. */
static bool cross_layer(struct crossing *out,
    const struct etx_completion_search *search, const struct end_helix *helix,
    const struct track_end *end, int64_t step, int32_t kind)
{
    const struct etx_completion_window *const window =
        etx_completion_window(search->completion, step, kind, helix->bin);
    const int32_t to = etx_completion_step_to(search->completion, step);

    if (window->transverse <= 0.0f || (double)window->transverse > MAX_WINDOW ||
        (double)window->longitudinal > 2.0 * MAX_WINDOW)
        return false;
    *out = (struct crossing){.end = helix,
        .helix = &helix->helix,
        .window = window,
        .layer = &search->grid.layers[to],
        .is_same = to == end->layer,
        .tolerance = search->reach * (double)window->longitudinal + MARGIN};
    if (!(out->layer->is_barrel ? cross_barrel(out, search)
                                : cross_disc(out, search)))
        return false;
    return predict_azimuth(out, search->reach);
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
    if (is_same && hit->module == search->grid.row[end->hit].module)
        return false;
    return *track < 0 || (chains->n_hits[*track] >= 3 &&
                             chains->end[other][*track] == hit->hit);
}

/* Compare one hit with the best step so far; true when it is better. */
static bool judge_hit(struct etx_completion_proposal *best,
    const struct etx_completion_search *search, const struct track_end *end,
    const struct crossing *crossing, const struct etx_grid_hit *at)
{
    const etx_completion_options *const options = search->options;
    const struct etx_completion_window *const window = crossing->window;
    const bool is_barrel = crossing->layer->is_barrel;
    double transverse, longitudinal, s = crossing->s;
    int32_t track;

    if (!is_candidate(&track, search, end, crossing->is_same, at) ||
        !etx_track_helix_residuals(&transverse, &longitudinal, &s,
            crossing->helix, crossing->curvature, at->position, is_barrel) ||
        (crossing->is_same && s < -MAX_BACKWARD))
        return false;
    const double a = transverse / (double)window->transverse;
    const double b = longitudinal / (double)window->longitudinal;
    const double distance = a * a + b * b;
    const double n_random =
        etx_grid_density(
            crossing->layer, is_barrel ? (double)at->z : (double)at->radius) *
        ETX_PI * (double)window->transverse * (double)window->longitudinal *
        distance;
    if (track < 0 ? !(distance <= (double)options->max_distance) ||
                        n_random > (double)options->max_random
                  : !(distance <= (double)options->max_join))
        return false;
    const double cost = (track < 0 ? n_random : JOIN_FACTOR * n_random) +
                        DISTANCE_COST * distance +
                        (crossing->is_same ? 0.0 : PATH_COST * fmax(0.0, s));
    if (!(cost < (double)best->cost))
        return false;
    *best = (struct etx_completion_proposal){
        .cost = (float)cost, .hit = at->hit, .track = track};
    return true;
}

/* The hits of the window; true when one is better. */
static bool search_layer(struct etx_completion_proposal *best,
    const struct etx_completion_search *search, const struct track_end *end,
    const struct crossing *crossing)
{
    const struct etx_grid_layer *const layer = crossing->layer;
    const struct etx_grid_hit *hit;
    struct etx_grid_walk walk;
    bool is_better = false;

    etx_grid_begin(&walk, layer, crossing->phi, crossing->phi_width,
        crossing->across - crossing->tolerance,
        crossing->across + crossing->tolerance);
    while ((hit = etx_grid_next(&walk)) != NULL) {
        const double turn = fabs((double)hit->azimuth - crossing->phi);
        const double across =
            layer->is_barrel ? (double)hit->z : (double)hit->radius;

        if (fabs(across - crossing->across) <= crossing->tolerance &&
            (turn <= crossing->phi_width ||
                turn >= 2.0 * ETX_PI - crossing->phi_width))
            is_better |= judge_hit(best, search, end, crossing, hit);
    }
    return is_better;
}

void etx_completion_propose(struct etx_completion_proposal *out,
    const struct etx_completion_search *search, int32_t track,
    int32_t direction)
{
    const struct etx_completion *const completion = search->completion;
    const int32_t hit = search->chains.end[direction][track];
    const struct track_end end = {
        track, direction, hit, search->grid.layer[hit]};
    struct end_helix helix[ETX_N_HELICES];
    bool has[ETX_N_HELICES] = {false, false};

    *out = (struct etx_completion_proposal){
        .cost = FLT_MAX, .hit = -1, .track = -1};
    has[ETX_HELIX_FREE] = find_end_helix(
        &helix[ETX_HELIX_FREE], ETX_HELIX_FREE, search, track, direction);
    if (!has[ETX_HELIX_FREE])
        return;
    if (direction == ETX_INWARD)
        has[ETX_HELIX_BEAM] = find_end_helix(
            &helix[ETX_HELIX_BEAM], ETX_HELIX_BEAM, search, track, direction);
    const int64_t *const begin = completion->begin[direction];
    for (int64_t k = begin[end.layer]; k < begin[end.layer + 1]; k++) {
        const int32_t to = etx_completion_step_to(completion, k);
        bool is_found = false;

        /* The free helix only where the beam line leads to no better hit. */
        for (int32_t kind = ETX_N_HELICES - 1; kind >= 0 && !is_found; kind--) {
            struct crossing crossing;

            if (has[kind] && search->grid.layers[to].n_hits > 0 &&
                cross_layer(&crossing, search, &helix[kind], &end, k, kind))
                is_found = search_layer(out, search, &end, &crossing);
        }
    }
}

bool etx_completion_meets(const struct etx_completion_search *search,
    int32_t track, int32_t direction, int32_t hit)
{
    const struct etx_completion *const completion = search->completion;
    const float *const at = search->event->position + 3 * (int64_t)hit;
    const int32_t from =
        search->grid.layer[search->chains.end[direction][track]];
    const int32_t to = search->grid.layer[hit];
    struct end_helix end;

    if (!find_end_helix(&end, ETX_HELIX_FREE, search, track, direction))
        return false;
    const int64_t *const begin = completion->begin[direction];
    for (int64_t k = begin[from]; k < begin[from + 1]; k++) {
        const struct etx_completion_window *const window =
            etx_completion_window(completion, k, ETX_HELIX_FREE, end.bin);
        double transverse, longitudinal;
        double s = fabs(search->grid.layers[to].radius - end.radius);

        if (etx_completion_step_to(completion, k) != to ||
            window->transverse <= 0.0f)
            continue;
        const double curvature =
            curvature_near(search, &end, 0.5 * (end.helix.z + (double)at[2]));
        if (!etx_track_helix_residuals(&transverse, &longitudinal, &s,
                &end.helix, curvature, at,
                etx_completion_is_barrel(completion, to)))
            return false;
        const double a = transverse / (double)window->transverse;
        const double b = longitudinal / (double)window->longitudinal;
        return a * a + b * b < (double)search->options->max_join;
    }
    return false;
}
