/* op/shared/near_edge.h -- edge features inside a detector, in float32.
 *
 * Within the tolerance of op/graph.h of op/shared/edge_features.h, which is in
 * float64, for devices that have few units of it. No intermediate overflows,
 * and differences of products are rounded as one (Jeannerod, Louvet, Muller,
 * Math. Comp. 82 (2013)), so that small angles keep their digits. The radii are
 * rounded as there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_NEAR_EDGE_H
#define ETX_OP_SHARED_NEAR_EDGE_H

#include "op/shared/edge_features.h"

#define ETX_NEAR 1e5f /* mm, the largest coordinate */

struct etx_near_edge {
    float s[3], d[3]; /* positions of the ends */
    float r_src, r_dst, dr, dz;
    float inverse_dr; /* 1 / dr, which is ETX_EDGE_MIN_DR or more from zero */
    float dphi;
};

/* a b - c d. */
ETX_HOST_DEVICE float etx_product_difference(float a, float b, float c, float d)
{
    const float w = c * d;

    return fmaf(a, b, -w) + fmaf(-c, d, w);
}

ETX_HOST_DEVICE float etx_clampf(float value, float bound)
{
    return fminf(fmaxf(value, -bound), bound);
}

/* The ends of edge e; returns whether the rest may be computed. */
ETX_HOST_DEVICE int etx_near_edge_read(struct etx_near_edge *edge,
    const struct etx_edge_features_args *args, int64_t e)
{
    const float *s = args->position + 3 * (int64_t)args->src[e];
    const float *d = args->position + 3 * (int64_t)args->dst[e];
    float max = 0.0f;

    for (int k = 0; k < 3; k++) {
        edge->s[k] = s[k];
        edge->d[k] = d[k];
        max = fmaxf(max, fmaxf(fabsf(s[k]), fabsf(d[k])));
    }
    return max <= ETX_NEAR;
}

ETX_HOST_DEVICE void etx_near_edge_describe(struct etx_near_edge *edge)
{
    const float *s = edge->s;
    const float *d = edge->d;
    const float min = (float)ETX_EDGE_MIN_DR;
    float safe_dr;

    edge->r_src = (float)etx_edge_radius(s);
    edge->r_dst = (float)etx_edge_radius(d);
    edge->dr = safe_dr = edge->r_dst - edge->r_src;
    edge->dz = d[2] - s[2];
    if (fabsf(safe_dr) < min)
        safe_dr = safe_dr < 0.0f ? -min : min;
    edge->inverse_dr = 1.0f / safe_dr;
    edge->dphi = atan2f(etx_product_difference(s[0], d[1], s[1], d[0]),
        fmaf(s[0], d[0], s[1] * d[1]));
}

ETX_HOST_DEVICE float etx_near_eta(float r, float z)
{
    return asinhf(z / fmaxf(r, (float)ETX_EDGE_MIN_DR));
}

ETX_HOST_DEVICE float etx_near_phislope(const struct etx_near_edge *edge)
{
    return etx_clampf(
        (float)(1000.0 / ETX_EDGE_PI) * edge->dphi * edge->inverse_dr,
        (float)ETX_EDGE_MAX_SLOPE);
}

ETX_HOST_DEVICE float etx_near_logit(float score)
{
    const float min = 1e-30f;

    return etx_clampf(logf(fmaxf(score, min) / fmaxf(1.0f - score, min)),
        (float)ETX_EDGE_MAX_LOGIT);
}

/* Before scaling; feature is one of those before ETX_EDGE_HELIX_CURVATURE. */
ETX_HOST_DEVICE float etx_near_edge_feature(const struct etx_near_edge *edge,
    const struct etx_edge_features_args *args, int64_t e, int32_t feature)
{
    const float *s = edge->s;
    const float *d = edge->d;

    switch (feature) {
    case ETX_EDGE_DR:
        return edge->dr;
    case ETX_EDGE_DPHI:
        return edge->dphi;
    case ETX_EDGE_DZ:
        return edge->dz;
    case ETX_EDGE_DETA:
        return etx_near_eta(edge->r_dst, d[2]) -
               etx_near_eta(edge->r_src, s[2]);
    case ETX_EDGE_LENGTH:
        return sqrtf(fmaf(d[0] - s[0], d[0] - s[0],
            fmaf(d[1] - s[1], d[1] - s[1], edge->dz * edge->dz)));
    case ETX_EDGE_THETA:
        return atan2f(edge->dz, edge->dr);
    case ETX_EDGE_ASINH_Z0:
        return asinhf(fmaf(-edge->r_src * edge->dz, edge->inverse_dr, s[2]));
    case ETX_EDGE_ASINH_DZDR:
        return asinhf(edge->dz * edge->inverse_dr);
    case ETX_EDGE_ASINH_DPHIDR:
        return asinhf(1000.0f * edge->dphi * edge->inverse_dr);
    case ETX_EDGE_PHISLOPE:
        return etx_near_phislope(edge);
    case ETX_EDGE_RPHISLOPE:
        return 0.0005f * (edge->r_src + edge->r_dst) * etx_near_phislope(edge);
    default: /* ETX_EDGE_SCORE_LOGIT */
        return etx_near_logit(args->score ? args->score[e] : 0.5f);
    }
}

#endif
