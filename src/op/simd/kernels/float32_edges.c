/* op/simd/kernels/float32_edges.c -- geometry of edges inside a detector.
 *
 * In float32: no intermediate overflows, and differences of products are
 * rounded as one (Jeannerod, Louvet, Muller, Math. Comp. 82 (2013)), so that
 * small angles and impact parameters keep their digits. atan and log by the
 * polynomials of Cephes atanf and logf (Moshier).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/edge_block.h"

#include "op/simd/vector.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

#define PI        3.14159265f
#define MIN_DR    1e-6f  /* mm */
#define MAX_SLOPE 100.0f /* half turns per m */
#define MAX_LOGIT 16.0f
#define LARGE     1e9f /* from here on asinh is log(2 a) */

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
    const vec small = v_min(a, v_set1(LARGE));
    const vec sum = small + v_sqrt(v_fma(small, small, v_set1(1.0f)));
    const vmask is_small = v_less_equal(a, v_set1(LARGE));
    const vec log_sum = logarithm(v_select(is_small, sum, a));

    return with_sign_of(
        v_select(is_small, log_sum, log_sum + v_set1(0.693147181f)), x);
}

/* atan2(y, x). The smaller of |x|, |y| over the larger is in 0 .. 1; above
 * tan(pi / 8) it is reduced by pi / 4 (atanf of Cephes). Then the octant and
 * the quadrant are restored. */
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
    vec x_src, y_src, x_dst, y_dst, score;
};

INLINE struct edges load_edges(const struct etx_edge_block *block, int32_t t)
{
    struct edges e = {.r_src = v_load(block->r_src + t),
        .r_dst = v_load(block->r_dst + t),
        .z_src = v_load(block->z_src + t),
        .z_dst = v_load(block->z_dst + t),
        .x_src = v_load(block->x_src + t),
        .y_src = v_load(block->y_src + t),
        .x_dst = v_load(block->x_dst + t),
        .y_dst = v_load(block->y_dst + t),
        .score = v_load(block->score + t)};
    const vec min = v_set1(MIN_DR);

    e.dr = e.r_dst - e.r_src;
    e.dz = e.z_dst - e.z_src;
    e.safe_dr = v_select(v_less(v_abs(e.dr), min),
        v_select(v_less(e.dr, v_zero()), v_zero() - min, min), e.dr);
    return e;
}

INLINE vec dr(struct edges e)
{
    return e.dr;
}

INLINE vec dphi(struct edges e)
{
    return angle(product_difference(e.x_src, e.y_dst, e.y_src, e.x_dst),
        v_fma(e.x_src, e.x_dst, e.y_src * e.y_dst));
}

INLINE vec dz(struct edges e)
{
    return e.dz;
}

INLINE vec eta(vec z, vec r)
{
    return arsinh(z / v_max(r, v_set1(MIN_DR)));
}

INLINE vec deta(struct edges e)
{
    return eta(e.z_dst, e.r_dst) - eta(e.z_src, e.r_src);
}

INLINE vec length(struct edges e)
{
    const vec dx = e.x_dst - e.x_src;
    const vec dy = e.y_dst - e.y_src;

    return v_sqrt(v_fma(dx, dx, v_fma(dy, dy, e.dz * e.dz)));
}

INLINE vec theta(struct edges e)
{
    return angle(e.dz, e.dr);
}

INLINE vec asinh_z0(struct edges e)
{
    return arsinh(
        product_difference(e.z_src, e.safe_dr, e.r_src, e.dz) / e.safe_dr);
}

INLINE vec asinh_dzdr(struct edges e)
{
    return arsinh(e.dz / e.safe_dr);
}

INLINE vec asinh_dphidr(struct edges e)
{
    return arsinh(v_set1(1000.0f) * dphi(e) / e.safe_dr);
}

INLINE vec phislope(struct edges e)
{
    const vec bound = v_set1(MAX_SLOPE);
    const vec slope = v_set1(1000.0f / PI) * dphi(e) / e.safe_dr;

    return v_max(v_zero() - bound, v_min(bound, slope));
}

INLINE vec rphislope(struct edges e)
{
    return phislope(e) * v_set1(0.0005f) * (e.r_src + e.r_dst);
}

INLINE vec score_logit(struct edges e)
{
    const vec bound = v_set1(MAX_LOGIT);
    const vec min = v_set1(1e-30f);
    const vec x =
        logarithm(v_max(e.score, min) / v_max(v_set1(1.0f) - e.score, min));

    return v_max(v_zero() - bound, v_min(bound, x));
}

/* formula is a constant where this is inlined. */
INLINE int32_t evaluate(float *value, const struct etx_edge_block *block,
    vec (*formula)(struct edges))
{
    for (int32_t t = 0; t < ETX_EDGE_BLOCK; t += VEC_WIDTH)
        v_store(value + t, formula(load_edges(block, t)));
    return 1;
}

int32_t ETX_ISA_NAME(float32_edge_feature)(
    float *value, const struct etx_edge_block *block, int32_t feature)
{
    switch (feature) {
    case ETX_EDGE_DR:
        return evaluate(value, block, dr);
    case ETX_EDGE_DPHI:
        return evaluate(value, block, dphi);
    case ETX_EDGE_DZ:
        return evaluate(value, block, dz);
    case ETX_EDGE_DETA:
        return evaluate(value, block, deta);
    case ETX_EDGE_LENGTH:
        return evaluate(value, block, length);
    case ETX_EDGE_THETA:
        return evaluate(value, block, theta);
    case ETX_EDGE_ASINH_Z0:
        return evaluate(value, block, asinh_z0);
    case ETX_EDGE_ASINH_DZDR:
        return evaluate(value, block, asinh_dzdr);
    case ETX_EDGE_ASINH_DPHIDR:
        return evaluate(value, block, asinh_dphidr);
    case ETX_EDGE_PHISLOPE:
        return evaluate(value, block, phislope);
    case ETX_EDGE_RPHISLOPE:
        return evaluate(value, block, rphislope);
    case ETX_EDGE_SCORE_LOGIT:
        return evaluate(value, block, score_logit);
    default:
        return 0;
    }
}
