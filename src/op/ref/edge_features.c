/* op/ref/edge_features.c -- geometry of an edge.
 *
 * In float64 from float32 positions. Only r is rounded to float32, so that
 * all backends agree on which edges have no radial extent; the angle between
 * the ends comes from their cross and dot products and needs no wrapping.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/helix.h"
#include "op/ref/ref.h"

#include <float.h>
#include <math.h>

static const double pi = 3.14159265358979323846;
static const double min_dr = 1e-6;     /* mm */
static const double max_slope = 100.0; /* half turns per mm */
static const double max_logit = 16.0;

/* An edge: both ends and what most features share. */
struct edge {
    double r_src, r_dst, z_src, z_dst;
    double dx, dy, dz;
    double dr;      /* r_dst - r_src */
    double safe_dr; /* the same, at least least_dr away from zero */
    double dphi;
    double score, votes;
    const float *src, *dst; /* [3] positions */
};

/* The product of two floats is exact in float64, so this rounds the same with
 * and without fused multiply-add. */
static double radius(const float *position)
{
    const double x = (double)position[0];
    const double y = (double)position[1];

    return (double)(float)sqrt(x * x + y * y);
}

static double away_from_zero(double dr)
{
    if (fabs(dr) >= min_dr)
        return dr;
    return dr < 0.0 ? -min_dr : min_dr;
}

static double clamp(double value, double bound)
{
    return fmin(fmax(value, -bound), bound);
}

static double angle_between(const float *s, const float *d)
{
    const double cross =
        (double)s[0] * (double)d[1] - (double)s[1] * (double)d[0];
    const double dot =
        (double)s[0] * (double)d[0] + (double)s[1] * (double)d[1];

    return atan2(cross, dot);
}

static struct edge edge_at(const struct etx_edge_features_args *args, int64_t e)
{
    const float *s = args->position + 3 * (int64_t)args->src[e];
    const float *d = args->position + 3 * (int64_t)args->dst[e];
    struct edge edge = {.r_src = radius(s),
        .r_dst = radius(d),
        .z_src = (double)s[2],
        .z_dst = (double)d[2],
        .dx = (double)d[0] - (double)s[0],
        .dy = (double)d[1] - (double)s[1],
        .dz = (double)d[2] - (double)s[2],
        .dphi = angle_between(s, d),
        .score = args->score ? (double)args->score[e] : 0.5,
        .votes = args->votes ? (double)args->votes[e] : 1.0,
        .src = s,
        .dst = d};

    edge.dr = edge.r_dst - edge.r_src;
    edge.safe_dr = away_from_zero(edge.dr);
    return edge;
}

static double pseudorapidity(double r, double z)
{
    return asinh(z / fmax(r, min_dr));
}

static double phi_slope(const struct edge *edge)
{
    if (edge->dr == 0.0)
        return 0.0;
    return clamp(edge->dphi / pi / edge->dr, max_slope);
}

static double logit(double score)
{
    const double min = 1.0 / (1.0 + exp(max_logit));
    const double p = fmin(fmax(score, min), 1.0 - min);

    return clamp(log(p) - log1p(-p), max_logit);
}

static double feature_of(const struct edge *edge, enum etx_edge_feature feature)
{
    switch (feature) {
    case ETX_EDGE_DR:
        return edge->dr;
    case ETX_EDGE_DPHI:
        return edge->dphi;
    case ETX_EDGE_DZ:
        return edge->dz;
    case ETX_EDGE_DETA:
        return pseudorapidity(edge->r_dst, edge->z_dst) -
               pseudorapidity(edge->r_src, edge->z_src);
    case ETX_EDGE_LENGTH:
        return sqrt(
            edge->dx * edge->dx + edge->dy * edge->dy + edge->dz * edge->dz);
    case ETX_EDGE_THETA:
        return atan2(edge->dz, edge->dr);
    case ETX_EDGE_ASINH_Z0:
        return asinh(edge->z_src - edge->r_src * (edge->dz / edge->safe_dr));
    case ETX_EDGE_ASINH_DZDR:
        return asinh(edge->dz / edge->safe_dr);
    case ETX_EDGE_ASINH_DPHIDR:
        return asinh(1000.0 * edge->dphi / edge->safe_dr);
    case ETX_EDGE_PHI_SLOPE:
        return phi_slope(edge);
    case ETX_EDGE_R_PHI_SLOPE:
        return 0.5 * (edge->r_src + edge->r_dst) * phi_slope(edge);
    case ETX_EDGE_SCORE_LOGIT:
        return logit(edge->score);
    case ETX_EDGE_HELIX_CURVATURE:
    case ETX_EDGE_HELIX_PHI0:
    case ETX_EDGE_ASINH_HELIX_Z0:
    case ETX_EDGE_HELIX_ETA:
        return etx_helix_feature(edge->src, edge->dst, feature);
    case ETX_EDGE_LOG_HOUGH_VOTES:
        return log(edge->votes);
    case ETX_N_EDGE_FEATURES:
        break;
    }
    return 0.0;
}

etx_status etx_ref_edge_features(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    (void)stream;
    for (int64_t e = 0; e < args->n_edges; e++) {
        const struct edge edge = edge_at(args, e);
        float *out = args->out + e * args->n_features;
        for (int32_t k = 0; k < args->n_features; k++) {
            const double value =
                feature_of(&edge, (enum etx_edge_feature)args->feature[k]);
            out[k] =
                (float)clamp(value / (double)args->scale[k], (double)FLT_MAX);
        }
    }
    return ETX_OK;
}
