/* stage/options.c -- every field of an options struct: default, bounds.
 *
 * A field that is missing here fails test_options_tables; bindings/python/
 * generate_declarations.py reads these lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/options.h"

#include "base/cpu.h"
#include "stage/helix/layer_table.h"
#include "stage/track_building/track_building.h"

#include <float.h>
#include <math.h>

#define MAX_THREADS 256
#define MAX_MAP     16384        /* points of a field map along one axis */
#define MAX_PASSES  8            /* of the networks over an event */
#define MIN_PT      0.01f        /* GeV: below it a helix is a knot */
#define POSITIVE    FLT_TRUE_MIN /* the least positive number */
#define BELOW_ONE   (1.0f - FLT_EPSILON / 2.0f) /* the largest below 1 */

/* FIELD(struct, field, default, low, high), in the order of the struct. Scores
 * are in 0 .. 1 and so are cuts. */
#define FIELD ETX_FIELD

/* api/context.c has the bound of device, the list of backends. */
static const struct etx_field context_fields[] = {
#define S etx_context_options
    FIELD(S, device, ETX_DEVICE_CPU, 0, INT32_MAX),
    FIELD(S, device_index, 0, 0, INT32_MAX),
    FIELD(S, n_threads, 1, 1, MAX_THREADS),
    FIELD(S, cpu_level, ETX_CPU_BEST, ETX_CPU_BEST, ETX_N_CPU_LEVELS - 1),
    FIELD(S, cancel_interval, 0, 0, INT32_MAX),
    FIELD(S, memory_limit, 0, 0, (double)INT64_MAX),
    FIELD(S, stream, 0, 0, 0),
    FIELD(S, cancel, 0, 0, 0),
    FIELD(S, cancel_user, 0, 0, 0),
    FIELD(S, precision, ETX_PRECISION_BEST, ETX_PRECISION_BEST,
        ETX_PRECISION_INT16),
    FIELD(S, keep_graphs, 0, 0, 2),
#undef S
};

static const struct etx_field graph_fields[] = {
#define S etx_graph_options
    FIELD(S, radius, 0.1f, POSITIVE, FLT_MAX),
    FIELD(S, max_neighbours, 0, 0, INT32_MAX),
    FIELD(S, orientation, ETX_ORIENT_INDEX, ETX_ORIENT_INDEX, ETX_ORIENT_BOTH),
    FIELD(S, max_edges, INT32_MAX, 0, INT32_MAX),
#undef S
};

static const struct etx_field label_fields[] = {
#define S etx_label_options
    ETX_FIELD_CHOICE(S, method, ETX_LABEL_COMPONENTS, ETX_N_LABEL_METHODS,
        etx_label_method_names),
    FIELD(S, cut, 0.5f, 0, 1),
    FIELD(S, min_hits, 3, 1, INT32_MAX),
    FIELD(S, sure_cut, 0, 0, 1),
    FIELD(S, strong_cut, 0, 0, 1),
    FIELD(S, support_hits, 3, 1, INT32_MAX),
    FIELD(S, max_curvature_change, 0, 0, INFINITY),
    FIELD(S, max_polar_change, 0, 0, 1),
#undef S
};

static const struct etx_field completion_fields[] = {
#define S etx_completion_options
    FIELD(S, max_distance, 64.0f, 0, INFINITY),
    FIELD(S, max_join, 25.0f, 0, INFINITY),
    FIELD(S, max_random, 0.3f, 0, INFINITY),
    FIELD(S, min_layers, 5, 0, ETX_CANDIDATE_MAX_LAYERS),
    FIELD(S, min_pt, 0.3f, MIN_PT, INFINITY),
    FIELD(S, passes, 1, 1, MAX_PASSES),
#undef S
};

static const struct etx_field first_pass_fields[] = {
#define S etx_first_pass_options
    FIELD(S, min_layers, 7, 3, ETX_CANDIDATE_MAX_LAYERS),
    FIELD(S, min_pt, 0.18f, MIN_PT, INFINITY),
    FIELD(S, max_distance, 20.0f, 0, INFINITY),
    FIELD(S, max_random, 0.1f, 0, INFINITY),
    FIELD(S, min_event_hits, 0, 0, INT32_MAX),
#undef S
};

static const struct etx_field module_map_fields[] = {
#define S etx_module_map_options
    FIELD(S, units, ETX_MAP_MODULES, ETX_MAP_MODULES, ETX_MAP_LAYERS),
    FIELD(S, use_triplets, 0, 0, 1),
    FIELD(S, min_pt, 0, 0, INFINITY),
    FIELD(S, tail, 0, 0, 0.499f),
    FIELD(S, margin, 10.0f, 0, 1000),
#undef S
};

/* The map has n_r x n_z points where there is one: api/fit.c. */
static const struct etx_field fit_fields[] = {
#define S etx_fit_options
    FIELD(S, field, 0, -100, 100),
    FIELD(S, material, 0.02f, 0, 10),
    FIELD(S, mass, 0.13957f, 0, 1000),
    FIELD(S, resolution_scale, 1.0f, 1e-3f, 1e3f),
    FIELD(S, max_hit_chi2, 12.0f, 0, FLT_MAX),
    FIELD(S, field_map, 0, 0, 0),
    FIELD(S, n_r, 0, 0, MAX_MAP),
    FIELD(S, n_z, 0, 0, MAX_MAP),
    FIELD(S, max_r, 0, 0, FLT_MAX),
    FIELD(S, max_z, 0, 0, FLT_MAX),
    FIELD(S, energy_loss, 0.036f, 0, 10),
    FIELD(S, map_x, 0, -1e6f, 1e6f),
    FIELD(S, map_y, 0, -1e6f, 1e6f),
    FIELD(S, map_z, 0, -1e6f, 1e6f),
#undef S
};

static const struct etx_field resolve_fields[] = {
#define S etx_resolve_options
    FIELD(S, max_shared, 0, 0, INT32_MAX),
    FIELD(S, min_hits, 4, 1, INT32_MAX),
#undef S
};

static const struct etx_field evaluation_fields[] = {
#define S etx_evaluation_options
    FIELD(S, matching, ETX_MATCH_DOUBLE_MAJORITY, ETX_MATCH_DOUBLE_MAJORITY,
        ETX_MATCH_PERFECT),
    FIELD(S, matching_fraction, 0.5f, 0.5f, BELOW_ONE),
    FIELD(S, min_pt, 0.1f, 0, FLT_MAX),
    FIELD(S, max_eta, 4.0f, POSITIVE, INFINITY),
    FIELD(S, min_particle_hits, 5, 1, INT32_MAX),
    FIELD(S, min_track_hits, 3, 1, INT32_MAX),
    FIELD(S, charged_only, 1, 0, 1),
#undef S
};

#define TYPE(name, text, last)                                                 \
    const struct etx_options_type etx_##name##_options_type = {text,           \
        sizeof(etx_##name##_options),                                          \
        ETX_SIZE_UP_TO(etx_##name##_options, last),                            \
        (int32_t)(sizeof name##_fields / sizeof *name##_fields),               \
        name##_fields};
ETX_OPTIONS_TYPES(TYPE)
