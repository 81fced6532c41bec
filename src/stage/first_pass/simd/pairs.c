/* stage/first_pass/simd/pairs.c -- helices of pairs of hits, and where they
 * cross a layer: loops that the compiler makes vector code of.
 *
 * The Makefile compiles this twice, the second time with ETX_ISA set to avx2.
 * Every operation is rounded by itself, so both have the same results.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/pairs.h"

#define WIDER      2.0 /* a line through two hits than a helix through three */
#define MAX_ACROSS ((float)ETX_MAX_TRANSVERSE)
#define MAX_ALONG  ((float)ETX_MAX_LONGITUDINAL)
#define MIN_SLOPE  1e-3

#define INLINE static inline __attribute__((always_inline))

/* is_kept: the helix comes from the beam line. */
static void try_helices(
    struct etx_pairs *pairs, const struct etx_first_pass_search *search)
{
    const struct etx_grid_hit *const first = &search->grid.row[pairs->first];
    const double a_x = (double)first->x;
    const double a_y = (double)first->y;
    const double a_z = (double)first->z;
    const double middle = (double)search->first_pass->beam[0];
    const double half = (double)search->first_pass->beam[1];
    const double min_curvature = search->min_curvature;
    const double max_curvature = search->max_curvature;

#pragma omp simd
    for (int32_t i = 0; i < pairs->n; i++) {
        struct etx_track_helix helix;
        double z;
        const bool is_helix = etx_helix_from_beam(
            &helix, &z, a_x, a_y, a_z, pairs->x[i], pairs->y[i], pairs->z[i]);
        const double curvature = fabs(helix.curvature);

        pairs->tangent_x[i] = helix.tangent_x;
        pairs->tangent_y[i] = helix.tangent_y;
        pairs->curvature[i] = helix.curvature;
        pairs->slope[i] = helix.slope;
        pairs->is_kept[i] = is_helix & (curvature <= max_curvature) &
                            (curvature > min_curvature) &
                            (fabs(z - middle) <= half);
    }
}

/* The momentum of helix i. */
INLINE void measure_one(struct etx_pairs *pairs,
    const struct etx_first_pass_search *search, int32_t i)
{
    const struct etx_track_helix helix = etx_pair_helix(pairs, i);
    const double field =
        etx_completion_measured_field(search->completion, &helix);

    pairs->measured_field[i] = field;
    pairs->bin[i] = etx_completion_pt_bin(&helix, field);
}

static void keep_helices(
    struct etx_pairs *pairs, const struct etx_first_pass_search *search)
{
    int32_t n = 0;

    for (int32_t i = 0; i < pairs->n; i++) {
        pairs->hit[n] = pairs->hit[i];
        pairs->radius[n] = pairs->radius[i];
        pairs->x[n] = pairs->x[i];
        pairs->y[n] = pairs->y[i];
        pairs->z[n] = pairs->z[i];
        pairs->tangent_x[n] = pairs->tangent_x[i];
        pairs->tangent_y[n] = pairs->tangent_y[i];
        pairs->curvature[n] = pairs->curvature[i];
        pairs->slope[n] = pairs->slope[i];
        n += (int32_t)pairs->is_kept[i];
    }
    pairs->n = n;
#pragma omp simd
    for (int32_t i = 0; i < n; i++)
        measure_one(pairs, search, i);
}

static void find_helices(
    struct etx_pairs *pairs, const struct etx_first_pass_search *search)
{
    try_helices(pairs, search);
    keep_helices(pairs, search);
}

/* Element i of find_lines. */
INLINE void find_line(struct etx_pair_crossings *out, struct etx_pairs *pairs,
    const struct etx_first_pass_search *search, const struct etx_grid_hit *a,
    const struct etx_grid_layer *layer,
    const struct etx_completion_window *window, bool is_barrel, int32_t i)
{
    const double x = pairs->x[i] - (double)a->x;
    const double y = pairs->y[i] - (double)a->y;
    const double length = sqrt(x * x + y * y);
    const double slope = (pairs->z[i] - (double)a->z) / length;
    const double steep = fabs(slope) > MIN_SLOPE ? fabs(slope) : MIN_SLOPE;
    const double path = is_barrel ? fabs(layer->radius - pairs->radius[i])
                                  : fabs(layer->z - pairs->z[i]) / steep;
    const double bend = 0.5 * search->max_curvature * path * (length + path);
    const float transverse =
        (float)(WIDER * (double)window->transverse + bend / search->reach);
    const float longitudinal = (float)WIDER * window->longitudinal;

    pairs->tangent_x[i] = x / length;
    pairs->tangent_y[i] = y / length;
    pairs->curvature[i] = 0.0;
    pairs->measured_field[i] = 1.0; /* any: a line stays one */
    pairs->slope[i] = slope;
    pairs->is_kept[i] = length >= ETX_MIN_CHORD;
    out->window[i].transverse =
        transverse < MAX_ACROSS ? transverse : MAX_ACROSS;
    out->window[i].longitudinal =
        longitudinal < MAX_ALONG ? longitudinal : MAX_ALONG;
}

static void find_lines(struct etx_pair_crossings *out, struct etx_pairs *pairs,
    const struct etx_first_pass_search *search,
    const struct etx_grid_layer *layer,
    const struct etx_completion_window *window)
{
    const struct etx_grid_hit *const a = &search->grid.row[pairs->first];

    if (layer->is_barrel) {
#pragma omp simd
        for (int32_t i = 0; i < pairs->n; i++)
            find_line(out, pairs, search, a, layer, window, true, i);
    } else {
#pragma omp simd
        for (int32_t i = 0; i < pairs->n; i++)
            find_line(out, pairs, search, a, layer, window, false, i);
    }
}

/* Element i, on a layer of this kind. */
INLINE void cross_one(struct etx_pair_crossings *out,
    const struct etx_first_pass_search *search, const struct etx_pairs *pairs,
    const struct etx_grid_layer *layer, bool is_barrel, int32_t i)
{
    const struct etx_track_helix helix = etx_pair_helix(pairs, i);
    const struct etx_completion_window window = out->window[i];
    struct etx_layer_crossing crossing = {.helix = &helix,
        .layer = layer,
        .window = &window,
        .measured_field = pairs->measured_field[i],
        .tolerance = etx_window_tolerance(&window, search->reach)};
    const bool is_crossed =
        is_barrel
            ? etx_cross_barrel(&crossing, search->completion, search->reach,
                  pairs->radius[i])
            : etx_cross_disc(&crossing, search->completion, search->reach);

    out->is_crossed[i] = is_crossed & etx_window_is_known(&window);
    out->across[i] = crossing.across;
    out->tolerance[i] = crossing.tolerance;
    out->azimuth[i] = crossing.azimuth;
    out->width[i] = crossing.width;
    out->curvature[i] = crossing.curvature;
}

static void cross(struct etx_pair_crossings *out,
    const struct etx_first_pass_search *search, const struct etx_pairs *pairs,
    const struct etx_grid_layer *layer)
{
    if (layer->is_barrel) {
#pragma omp simd
        for (int32_t i = 0; i < pairs->n; i++)
            cross_one(out, search, pairs, layer, true, i);
    } else {
#pragma omp simd
        for (int32_t i = 0; i < pairs->n; i++)
            cross_one(out, search, pairs, layer, false, i);
    }
}

#ifdef ETX_ISA
const struct etx_pair_functions etx_pairs_avx2 = {
    find_helices, find_lines, cross};
#else
const struct etx_pair_functions etx_pairs_plain = {
    find_helices, find_lines, cross};
#endif
