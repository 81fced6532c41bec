/* cuda/op/edge_features.cu -- geometry of an edge.
 *
 * The arithmetic is that of op/ref/edge_features.c: float64 from float32
 * positions, r rounded to float32.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/helix.cuh"
#include "cuda/op/operators.h"

#include <float.h>

#define MIN_DR    1e-6  /* mm */
#define MAX_SLOPE 100.0 /* half turns per mm */
#define MAX_LOGIT 16.0
#define PI        3.14159265358979323846

/* The lists of the operator, which are on the host. */
struct feature_list {
    int32_t feature[ETX_N_EDGE_FEATURES];
    float scale[ETX_N_EDGE_FEATURES];
};

/* An edge: both ends and what most features share. */
struct edge {
    double r_src, r_dst, z_src, z_dst;
    double dx, dy, dz;
    double dr, safe_dr; /* the second at least MIN_DR away from 0 */
    double dphi;
    double score, votes;
    const float *src, *dst; /* [3] positions */
};

__device__ static double radius(const float *position)
{
    const double x = (double)position[0];
    const double y = (double)position[1];

    return (double)(float)sqrt(x * x + y * y);
}

__device__ static double away_from_zero(double dr)
{
    if (fabs(dr) >= MIN_DR)
        return dr;
    return dr < 0.0 ? -MIN_DR : MIN_DR;
}

__device__ static double clamp(double value, double bound)
{
    return fmin(fmax(value, -bound), bound);
}

__device__ static double angle_between(const float *s, const float *d)
{
    const double cross =
        (double)s[0] * (double)d[1] - (double)s[1] * (double)d[0];
    const double dot =
        (double)s[0] * (double)d[0] + (double)s[1] * (double)d[1];

    return atan2(cross, dot);
}

__device__ static struct edge edge_at(
    const struct etx_edge_features_args &args, int64_t e)
{
    const float *s = args.position + 3 * (int64_t)args.src[e];
    const float *d = args.position + 3 * (int64_t)args.dst[e];
    struct edge edge;

    edge.r_src = radius(s);
    edge.r_dst = radius(d);
    edge.z_src = (double)s[2];
    edge.z_dst = (double)d[2];
    edge.dx = (double)d[0] - (double)s[0];
    edge.dy = (double)d[1] - (double)s[1];
    edge.dz = (double)d[2] - (double)s[2];
    edge.dphi = angle_between(s, d);
    edge.score = args.score != NULL ? (double)args.score[e] : 0.5;
    edge.votes = args.votes != NULL ? (double)args.votes[e] : 1.0;
    edge.src = s;
    edge.dst = d;
    edge.dr = edge.r_dst - edge.r_src;
    edge.safe_dr = away_from_zero(edge.dr);
    return edge;
}

__device__ static double pseudorapidity(double r, double z)
{
    return asinh(z / fmax(r, MIN_DR));
}

__device__ static double phi_slope(const struct edge &edge)
{
    if (edge.dr == 0.0)
        return 0.0;
    return clamp(edge.dphi / PI / edge.dr, MAX_SLOPE);
}

__device__ static double logit(double score)
{
    const double min = 1.0 / (1.0 + exp(MAX_LOGIT));
    const double p = fmin(fmax(score, min), 1.0 - min);

    return clamp(log(p) - log1p(-p), MAX_LOGIT);
}

__device__ static double feature_of(const struct edge &edge, int32_t feature)
{
    switch ((enum etx_edge_feature)feature) {
    case ETX_EDGE_DR:
        return edge.dr;
    case ETX_EDGE_DPHI:
        return edge.dphi;
    case ETX_EDGE_DZ:
        return edge.dz;
    case ETX_EDGE_DETA:
        return pseudorapidity(edge.r_dst, edge.z_dst) -
               pseudorapidity(edge.r_src, edge.z_src);
    case ETX_EDGE_LENGTH:
        return sqrt(edge.dx * edge.dx + edge.dy * edge.dy + edge.dz * edge.dz);
    case ETX_EDGE_THETA:
        return atan2(edge.dz, edge.dr);
    case ETX_EDGE_ASINH_Z0:
        return asinh(edge.z_src - edge.r_src * (edge.dz / edge.safe_dr));
    case ETX_EDGE_ASINH_DZDR:
        return asinh(edge.dz / edge.safe_dr);
    case ETX_EDGE_ASINH_DPHIDR:
        return asinh(1000.0 * edge.dphi / edge.safe_dr);
    case ETX_EDGE_PHI_SLOPE:
        return phi_slope(edge);
    case ETX_EDGE_R_PHI_SLOPE:
        return 0.5 * (edge.r_src + edge.r_dst) * phi_slope(edge);
    case ETX_EDGE_SCORE_LOGIT:
        return logit(edge.score);
    case ETX_EDGE_HELIX_CURVATURE:
    case ETX_EDGE_HELIX_PHI0:
    case ETX_EDGE_ASINH_HELIX_Z0:
    case ETX_EDGE_HELIX_ETA:
        return etx_helix_feature(edge.src, edge.dst, feature);
    case ETX_EDGE_LOG_HOUGH_VOTES:
        return log(edge.votes);
    case ETX_N_EDGE_FEATURES:
        break;
    }
    return 0.0;
}

__global__ static void edge_features_kernel(
    struct etx_edge_features_args args, struct feature_list list)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step()) {
        const struct edge edge = edge_at(args, e);

        for (int32_t k = 0; k < args.n_features; k++)
            args.out[e * args.n_features + k] = (float)clamp(
                feature_of(edge, list.feature[k]) / (double)list.scale[k],
                (double)FLT_MAX);
    }
}

etx_status etx_cuda_edge_features(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    struct feature_list list = {};

    if (args->n_features > ETX_N_EDGE_FEATURES)
        return etx_fail(ETX_ERR_ARGUMENT,
            "edge_features: %d features are more than %d",
            (int)args->n_features, (int)ETX_N_EDGE_FEATURES);
    for (int32_t k = 0; k < args->n_features; k++) {
        list.feature[k] = args->feature[k];
        list.scale[k] = args->scale[k];
    }
    return etx_launch(stream, args->n_edges, edge_features_kernel, *args, list);
}
