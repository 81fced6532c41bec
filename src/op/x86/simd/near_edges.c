/* op/x86/simd/near_edges.c -- geometry of edges inside a detector.
 *
 * In float32: no intermediate overflows, and differences of products are
 * rounded as one (Jeannerod, Louvet, Muller, Math. Comp. 82 (2013)), so that
 * small angles and impact parameters keep their digits. atan and log by the
 * polynomials of Cephes atanf and logf (Moshier).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/edge_block.h"

#include "op/x86/vector.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

#define PI        3.14159265f
#define MIN_DR    1e-6f  /* mm */
#define MAX_SLOPE 100.0f /* half turns per mm */
#define MAX_LOGIT 16.0f
#define FAR       1e9f /* from here on asinh is log(2 a) */

INLINE vec with_sign_of(vec magnitude, vec x)
{
    const veci sign = vi_and(v_as_int(x), vi_set1(INT32_MIN));

    return v_as_float(vi_or(v_as_int(v_abs(magnitude)), sign));
}

/* a b - c d. */
INLINE vec product_difference(vec a, vec b, vec c, vec d)
{
    const vec w = c * d;
    const vec rounded = v_fnma(c, d, w);

    return v_fma(a, b, v_zero() - w) + rounded;
}

/* Of a normal x > 0. */
INLINE vec logarithm(vec x)
{
    const veci bits = vi_sub(v_as_int(x), vi_set1(0x3f3504f3)); /* sqrt(1/2) */
    const veci exponent = vi_from_exponent(bits);
    const vec e = v_to_float(exponent);
    const vec f = v_as_float(vi_sub(v_as_int(x), vi_to_exponent(exponent))) -
                  v_set1(1.0f);
    const vec z = f * f;
    vec p = v_set1(7.0376836292e-2f);

    p = v_fma(p, f, v_set1(-1.1514610310e-1f));
    p = v_fma(p, f, v_set1(1.1676998740e-1f));
    p = v_fma(p, f, v_set1(-1.2420140846e-1f));
    p = v_fma(p, f, v_set1(1.4249322787e-1f));
    p = v_fma(p, f, v_set1(-1.6668057665e-1f));
    p = v_fma(p, f, v_set1(2.0000714765e-1f));
    p = v_fma(p, f, v_set1(-2.4999993993e-1f));
    p = v_fma(p, f, v_set1(3.3333331174e-1f));
    p = p * f * z;
    p = v_fma(e, v_set1(-2.12194440e-4f), p);
    p = v_fma(z, v_set1(-0.5f), p);
    return v_fma(e, v_set1(0.693359375f), f + p);
}

INLINE vec arsinh(vec x)
{
    const vec a = v_abs(x);
    const vec near = v_min(a, v_set1(FAR));
    const vec sum = near + v_sqrt(v_fma(near, near, v_set1(1.0f)));
    const vmask is_near = v_less_equal(a, v_set1(FAR));
    const vec log_sum = logarithm(v_select(is_near, sum, a));

    return with_sign_of(
        v_select(is_near, log_sum, log_sum + v_set1(0.693147181f)), x);
}

/* Like atan2. */
INLINE vec angle(vec y, vec x)
{
    const vec a = v_abs(x);
    const vec b = v_abs(y);
    const vec max = v_max(a, b);
    const vec q =
        v_min(a, b) / v_select(v_less(v_zero(), max), max, v_set1(1.0f));
    const vmask is_high = v_less(v_set1(0.414213562f), q);
    const vec u = v_select(is_high, (q - v_set1(1.0f)) / (q + v_set1(1.0f)), q);
    const vec z = u * u;
    vec p = v_set1(8.05374449538e-2f);

    p = v_fma(p, z, v_set1(-1.38776856032e-1f));
    p = v_fma(p, z, v_set1(1.99777106478e-1f));
    p = v_fma(p, z, v_set1(-3.33329491539e-1f));
    p = v_fma(p * z, u, u);
    p = v_select(is_high, p + v_set1(0.25f * PI), p);
    p = v_select(v_less(a, b), v_set1(0.5f * PI) - p, p);
    p = v_select(v_less(x, v_zero()), v_set1(PI) - p, p);
    return with_sign_of(p, y);
}

/* One vector of edges. */
struct edges {
    vec r_src, r_dst, z_src, z_dst, dr, dz, safe_dr;
};

INLINE struct edges take(const struct etx_edge_block *block, int32_t t)
{
    struct edges e = {.r_src = v_load(block->r_src + t),
        .r_dst = v_load(block->r_dst + t),
        .z_src = v_load(block->z_src + t),
        .z_dst = v_load(block->z_dst + t)};
    const vec min = v_set1(MIN_DR);

    e.dr = e.r_dst - e.r_src;
    e.dz = e.z_dst - e.z_src;
    e.safe_dr = v_select(v_less(v_abs(e.dr), min),
        v_select(v_less(e.dr, v_zero()), v_zero() - min, min), e.dr);
    return e;
}

INLINE vec turn(const struct etx_edge_block *block, int32_t t)
{
    const vec x = v_load(block->x_src + t);
    const vec y = v_load(block->y_src + t);
    const vec u = v_load(block->x_dst + t);
    const vec v = v_load(block->y_dst + t);

    return angle(product_difference(x, v, y, u), v_fma(x, u, y * v));
}

INLINE vec eta(vec z, vec r)
{
    return arsinh(z / v_max(r, v_set1(MIN_DR)));
}

INLINE vec length(const struct etx_edge_block *block, int32_t t)
{
    const vec dx = v_load(block->x_dst + t) - v_load(block->x_src + t);
    const vec dy = v_load(block->y_dst + t) - v_load(block->y_src + t);
    const vec dz = v_load(block->z_dst + t) - v_load(block->z_src + t);

    return v_sqrt(v_fma(dx, dx, v_fma(dy, dy, dz * dz)));
}

/* (dphi / pi) / dr, bounded; 0 at dr = 0. */
INLINE vec phi_slope(vec dphi, vec dr)
{
    const vec bound = v_set1(MAX_SLOPE);
    const vmask has_rise = v_less(v_zero(), v_abs(dr));
    const vec slope =
        dphi * v_set1(1.0f / PI) / v_select(has_rise, dr, v_set1(1.0f));

    return v_select(
        has_rise, v_max(v_zero() - bound, v_min(bound, slope)), v_zero());
}

INLINE vec logit(vec score)
{
    const vec bound = v_set1(MAX_LOGIT);
    const vec min = v_set1(1e-30f);
    const vec x =
        logarithm(v_max(score, min) / v_max(v_set1(1.0f) - score, min));

    return v_max(v_zero() - bound, v_min(bound, x));
}

/* feature is a constant where this is inlined. */
INLINE void evaluate(float *value, const struct etx_edge_block *block,
    const enum etx_edge_feature feature)
{
    for (int32_t t = 0; t < ETX_EDGE_BLOCK; t += VEC_WIDTH) {
        const struct edges e = take(block, t);
        vec x = v_zero();
        switch (feature) {
        case ETX_EDGE_DR:
            x = e.dr;
            break;
        case ETX_EDGE_DPHI:
            x = turn(block, t);
            break;
        case ETX_EDGE_DZ:
            x = e.dz;
            break;
        case ETX_EDGE_DETA:
            x = eta(e.z_dst, e.r_dst) - eta(e.z_src, e.r_src);
            break;
        case ETX_EDGE_LENGTH:
            x = length(block, t);
            break;
        case ETX_EDGE_THETA:
            x = angle(e.dz, e.dr);
            break;
        case ETX_EDGE_ASINH_Z0:
            x = arsinh(product_difference(e.z_src, e.safe_dr, e.r_src, e.dz) /
                       e.safe_dr);
            break;
        case ETX_EDGE_ASINH_DZDR:
            x = arsinh(e.dz / e.safe_dr);
            break;
        case ETX_EDGE_ASINH_DPHIDR:
            x = arsinh(v_set1(1000.0f) * turn(block, t) / e.safe_dr);
            break;
        case ETX_EDGE_PHI_SLOPE:
            x = phi_slope(turn(block, t), e.dr);
            break;
        case ETX_EDGE_R_PHI_SLOPE:
            x = phi_slope(turn(block, t), e.dr) * v_set1(0.5f) *
                (e.r_src + e.r_dst);
            break;
        case ETX_EDGE_SCORE_LOGIT:
            x = logit(v_load(block->score + t));
            break;
        case ETX_EDGE_HELIX_CURVATURE:
        case ETX_EDGE_HELIX_PHI0:
        case ETX_EDGE_ASINH_HELIX_Z0:
        case ETX_EDGE_HELIX_ETA:
        case ETX_EDGE_LOG_HOUGH_VOTES:
        case ETX_N_EDGE_FEATURES:
            break;
        }
        v_store(value + t, x);
    }
}

void ETX_ISA_NAME(near_edge_feature)(float *value,
    const struct etx_edge_block *block, enum etx_edge_feature feature)
{
    switch (feature) {
    case ETX_EDGE_DR:
        evaluate(value, block, ETX_EDGE_DR);
        break;
    case ETX_EDGE_DPHI:
        evaluate(value, block, ETX_EDGE_DPHI);
        break;
    case ETX_EDGE_DZ:
        evaluate(value, block, ETX_EDGE_DZ);
        break;
    case ETX_EDGE_DETA:
        evaluate(value, block, ETX_EDGE_DETA);
        break;
    case ETX_EDGE_LENGTH:
        evaluate(value, block, ETX_EDGE_LENGTH);
        break;
    case ETX_EDGE_THETA:
        evaluate(value, block, ETX_EDGE_THETA);
        break;
    case ETX_EDGE_ASINH_Z0:
        evaluate(value, block, ETX_EDGE_ASINH_Z0);
        break;
    case ETX_EDGE_ASINH_DZDR:
        evaluate(value, block, ETX_EDGE_ASINH_DZDR);
        break;
    case ETX_EDGE_ASINH_DPHIDR:
        evaluate(value, block, ETX_EDGE_ASINH_DPHIDR);
        break;
    case ETX_EDGE_PHI_SLOPE:
        evaluate(value, block, ETX_EDGE_PHI_SLOPE);
        break;
    case ETX_EDGE_R_PHI_SLOPE:
        evaluate(value, block, ETX_EDGE_R_PHI_SLOPE);
        break;
    case ETX_EDGE_SCORE_LOGIT:
        evaluate(value, block, ETX_EDGE_SCORE_LOGIT);
        break;
    case ETX_EDGE_HELIX_CURVATURE:
    case ETX_EDGE_HELIX_PHI0:
    case ETX_EDGE_ASINH_HELIX_Z0:
    case ETX_EDGE_HELIX_ETA:
    case ETX_EDGE_LOG_HOUGH_VOTES:
    case ETX_N_EDGE_FEATURES:
        break;
    }
}
