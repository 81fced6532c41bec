/* op/shared/edge_features.h -- the formula of every edge feature.
 *
 * In float64 from float32 positions. Only r is rounded to float32, so that all
 * backends agree on which edges have no radial extent. The angle between the
 * ends comes from their cross and dot products and needs no wrapping.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_EDGE_FEATURES_H
#define ETX_OP_SHARED_EDGE_FEATURES_H

#include "op/graph.h"
#include "op/shared/helix.h"

#include <float.h>

#define ETX_EDGE_PI        3.14159265358979323846
#define ETX_EDGE_MIN_DR    1e-6  /* mm */
#define ETX_EDGE_MAX_SLOPE 100.0 /* half turns per m */
#define ETX_EDGE_MAX_LOGIT 16.0

/* An edge: both ends and what several features share. */
struct etx_edge {
    double r_src, r_dst, z_src, z_dst;
    double dx, dy, dz;
    double dr;      /* r_dst - r_src */
    double safe_dr; /* the same, at least ETX_EDGE_MIN_DR away from zero */
    double dphi;
    double score, votes;
    const float *src, *dst; /* [3] positions */
    const float *own;       /* [n_own], finite, or NULL */
};

/* The product of two floats is exact in float64, so this rounds the same with
 * and without fused multiply-add. */
ETX_HOST_DEVICE double etx_edge_radius(const float *position)
{
    return (double)(float)sqrt(etx_transverse_square(position));
}

ETX_HOST_DEVICE double etx_clamp(double value, double bound)
{
    return fmin(fmax(value, -bound), bound);
}

ETX_HOST_DEVICE struct etx_edge etx_edge_at(
    const struct etx_edge_features_args *args, int64_t e)
{
    const float *s = args->position + 3 * (int64_t)args->src[e];
    const float *d = args->position + 3 * (int64_t)args->dst[e];
    struct etx_edge edge;

    edge.src = s;
    edge.dst = d;
    edge.r_src = etx_edge_radius(s);
    edge.r_dst = etx_edge_radius(d);
    edge.z_src = (double)s[2];
    edge.z_dst = (double)d[2];
    edge.dx = (double)d[0] - (double)s[0];
    edge.dy = (double)d[1] - (double)s[1];
    edge.dz = (double)d[2] - (double)s[2];
    edge.dr = edge.r_dst - edge.r_src;
    edge.safe_dr = etx_away_from_zero(edge.dr, ETX_EDGE_MIN_DR);
    edge.dphi = atan2(etx_transverse_cross(s, d), etx_transverse_dot(s, d));
    edge.score = args->score ? (double)args->score[e] : 0.5;
    edge.votes = args->votes ? (double)args->votes[e] : 1.0;
    edge.own = args->own ? args->own + e * args->n_own : NULL;
    return edge;
}

ETX_HOST_DEVICE double etx_pseudorapidity(double r, double z)
{
    return asinh(z / fmax(r, ETX_EDGE_MIN_DR));
}

ETX_HOST_DEVICE double etx_phislope(const struct etx_edge *edge)
{
    return etx_clamp(
        1000.0 * edge->dphi / ETX_EDGE_PI / edge->safe_dr, ETX_EDGE_MAX_SLOPE);
}

ETX_HOST_DEVICE double etx_logit(double score)
{
    const double min = 1.0 / (1.0 + exp(ETX_EDGE_MAX_LOGIT));
    const double p = fmin(fmax(score, min), 1.0 - min);

    return etx_clamp(log(p) - log1p(-p), ETX_EDGE_MAX_LOGIT);
}

ETX_HOST_DEVICE double etx_helix_feature(
    const struct etx_edge *edge, enum etx_edge_feature feature)
{
    const struct etx_helix helix = etx_helix_of(edge->src, edge->dst);

    if (feature == ETX_EDGE_HELIX_CURVATURE)
        return 1000.0 * helix.curvature;
    if (feature == ETX_EDGE_HELIX_PHI0)
        return helix.phi0;
    if (feature == ETX_EDGE_ASINH_HELIX_Z0)
        return asinh(helix.z0);
    return asinh(helix.cot_theta);
}

#define ETX_EDGE_CASE(id, name) case ETX_EDGE_##id:

/* Before scaling. */
ETX_HOST_DEVICE double etx_edge_feature_of(
    const struct etx_edge *edge, enum etx_edge_feature feature)
{
    switch (feature) {
    case ETX_EDGE_DR:
        return edge->dr;
    case ETX_EDGE_DPHI:
        return edge->dphi;
    case ETX_EDGE_DZ:
        return edge->dz;
    case ETX_EDGE_DETA:
        return etx_pseudorapidity(edge->r_dst, edge->z_dst) -
               etx_pseudorapidity(edge->r_src, edge->z_src);
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
    case ETX_EDGE_PHISLOPE:
        return etx_phislope(edge);
    case ETX_EDGE_RPHISLOPE:
        return 0.0005 * (edge->r_src + edge->r_dst) * etx_phislope(edge);
    case ETX_EDGE_SCORE_LOGIT:
        return etx_logit(edge->score);
    case ETX_EDGE_HELIX_CURVATURE:
    case ETX_EDGE_HELIX_PHI0:
    case ETX_EDGE_ASINH_HELIX_Z0:
    case ETX_EDGE_HELIX_ETA:
        return etx_helix_feature(edge, feature);
    case ETX_EDGE_LOG_HOUGH_VOTES:
        return log(edge->votes);
        ETX_OWN_EDGE_FEATURES(ETX_EDGE_CASE)
        return (double)edge->own[feature - ETX_EDGE_OWN_0];
    case ETX_N_EDGE_FEATURES:
        break;
    }
    return 0.0;
}

/* As edge_features writes it. */
ETX_HOST_DEVICE float etx_scaled_edge_feature(
    const struct etx_edge *edge, int32_t feature, float scale)
{
    const double value =
        etx_edge_feature_of(edge, (enum etx_edge_feature)feature);

    return (float)etx_clamp(value / (double)scale, (double)FLT_MAX);
}

#endif
