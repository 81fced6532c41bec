/* checkop/cases_edges.c -- cases of edge_features.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* asinh of a value known to +-off. */
static double asinh_bound(double value, double off)
{
    return fmax(fabs(asinh(value + off) - asinh(value)),
        fabs(asinh(value - off) - asinh(value)));
}

/* What feature k of edge e, `value` before scaling, may be off by: 16 eps of
 * it, of 1, or of what it is the difference of, as op.h says. */
static double bound_of(const struct etx_edge_features_args *args, int64_t e,
    enum etx_edge_feature feature, double value)
{
    const float *s = args->position + 3 * (int64_t)args->src[e];
    const float *d = args->position + 3 * (int64_t)args->dst[e];
    const double tolerance = 16.0 * CHECKOP_EPS;
    const double r_s = hypot((double)s[0], (double)s[1]);
    const double r_d = hypot((double)d[0], (double)d[1]);
    const double dr = (double)((float)r_d - (float)r_s);
    const double safe_dr = fmax(fabs(dr), 1e-6);
    const double dz = fabs((double)d[2] - (double)s[2]);

    switch ((int)feature) {
    case ETX_EDGE_DR:
    case ETX_EDGE_DPHI:
    case ETX_EDGE_DZ:
    case ETX_EDGE_LENGTH:
    case ETX_EDGE_PHISLOPE:
    case ETX_EDGE_RPHISLOPE:
        return tolerance * fabs(value);
    case ETX_EDGE_DETA:
        return tolerance * (1.0 + fabs(asinh((double)s[2] / fmax(r_s, 1e-6))) +
                               fabs(asinh((double)d[2] / fmax(r_d, 1e-6))));
    case ETX_EDGE_ASINH_Z0: {
        const double z0 = (double)s[2] - r_s * ((double)d[2] - (double)s[2]) /
                                             (dr < 0.0 ? -safe_dr : safe_dr);
        const double off =
            tolerance * (fabs((double)s[2]) + r_s * dz / safe_dr);
        return tolerance * (1.0 + fabs(value)) + asinh_bound(z0, off);
    }
    default:
        return tolerance * (1.0 + fabs(value));
    }
}

static void feature_bounds(struct checkop_case *self)
{
    const struct etx_edge_features_args *args = self->args;
    struct checkop_output *output = &self->output[0];

    checkop_flat_bound(output, 0.0);
    for (int64_t e = 0; e < args->n_edges; e++)
        for (int32_t k = 0; k < args->n_features; k++) {
            const int64_t at = e * args->n_features + k;
            const double scale = (double)args->scale[k];
            output->bound[at] =
                bound_of(args, e, (enum etx_edge_feature)args->feature[k],
                    (double)args->out[at] * scale) /
                fabs(scale);
        }
}

void checkop_edge_features(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_edge_features_args *args =
        checkop_begin(out, "edge_features", sizeof *args);
    int32_t *feature = checkop_buffer(ETX_N_EDGE_FEATURES, sizeof *feature);
    float *position = checkop_uniform(3 * n_nodes, -1000.0f, 1000.0f);

    for (int32_t k = 0; k < ETX_N_EDGE_FEATURES; k++)
        feature[k] = (k + 5) % ETX_N_EDGE_FEATURES;
    for (int64_t i = 0; i < n_nodes && check.values == CHECKOP_EXTREME; i++)
        for (int32_t k = 0; k < 3; k++)
            if (etx_random_below(&check.random, 3) == 0)
                position[3 * i + k] = *checkop_floats(1);
    *args = (struct etx_edge_features_args){.n_edges = n_edges,
        .n_features = ETX_N_EDGE_FEATURES,
        .feature = feature,
        .scale = checkop_uniform(ETX_N_EDGE_FEATURES, 0.5f, 100.0f),
        .position = position,
        .src = checkop_indices(n_edges, (int32_t)n_nodes),
        .dst = checkop_indices(n_edges, (int32_t)n_nodes),
        .score = checkop_uniform(n_edges, 0.0f, 1.0f),
        .votes = checkop_uniform(n_edges, 1.0f, 50.0f),
        .n_own = ETX_N_OWN_EDGE_FEATURES,
        .own = checkop_floats(n_edges * ETX_N_OWN_EDGE_FEATURES),
        .out = checkop_floats(n_edges * ETX_N_EDGE_FEATURES)};
    out->set_bounds = feature_bounds;
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->out, n_edges * ETX_N_EDGE_FEATURES);
}

/* About half of the pairs are within the radius. */
void checkop_distance_bins(
    struct checkop_case *out, int64_t n_points, int32_t n_dim, float radius)
{
    struct etx_distance_bins_args *args =
        checkop_begin(out, "distance_bins", sizeof *args);

    *args = (struct etx_distance_bins_args){.n_points = n_points,
        .n_dim = n_dim,
        .n_bins = 64,
        .radius = radius,
        .point = checkop_uniform(n_points * n_dim, 0.0f, 1.0f),
        .radius_graph = etx_op_ref.radius_graph,
        .max_edges = INT32_MAX,
        .count = checkop_buffer(64, sizeof(int64_t))};
    checkop_label(out, "points=%d dim=%d radius=%g", (int)n_points, (int)n_dim,
        (double)radius);
    CHECKOP_OUTPUT(out, args->count, args->n_bins);
}
