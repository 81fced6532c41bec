/* op/simd/vector_neon.h -- vectors of NEON, which all of aarch64 has; see
 * vector.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_VECTOR_NEON_H
#define ETX_OP_SIMD_VECTOR_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#define VEC_WIDTH     4
#define VEC_REGISTERS 32

typedef float32x4_t vec;
typedef int32x4_t veci;
typedef uint32x4_t vmask;

static inline vec v_zero(void)
{
    return vdupq_n_f32(0.0f);
}

static inline vec v_set1(float x)
{
    return vdupq_n_f32(x);
}

static inline vec v_load(const float *x)
{
    return vld1q_f32(x);
}

static inline void v_store(float *x, vec a)
{
    vst1q_f32(x, a);
}

static inline veci vi_load(const int32_t *x)
{
    return vld1q_s32(x);
}

static inline void vi_store(int32_t *x, veci a)
{
    vst1q_s32(x, a);
}

static inline veci vi_set1(int32_t x)
{
    return vdupq_n_s32(x);
}

/* Lanes below n, 0 <= n; all of them from VEC_WIDTH on. */
static inline vmask v_first(int32_t n)
{
    static const int32_t lane[VEC_WIDTH] = {0, 1, 2, 3};

    return vcltq_s32(vi_load(lane), vi_set1(n));
}

/* A bit per lane, the first the lowest. */
static inline uint32_t v_bits(vmask m)
{
    static const uint32_t bit[VEC_WIDTH] = {1, 2, 4, 8};

    return vaddvq_u32(vandq_u32(m, vld1q_u32(bit)));
}

/* Zero where the mask is not set; memory there is not read. NEON has no loads
 * and stores with a mask. */
static inline vec v_load_mask(const float *x, vmask m)
{
    float lane[VEC_WIDTH] = {0};

    if (vminvq_u32(m) != 0)
        return v_load(x);
    for (int i = 0; i < VEC_WIDTH; i++)
        if (m[i] != 0)
            lane[i] = x[i];
    return v_load(lane);
}

static inline void v_store_mask(float *x, vec a, vmask m)
{
    if (vminvq_u32(m) != 0)
        v_store(x, a);
    else
        for (int i = 0; i < VEC_WIDTH; i++)
            if (m[i] != 0)
                x[i] = a[i];
}

static inline void vi_store_mask(int32_t *x, veci a, vmask m)
{
    for (int i = 0; i < VEC_WIDTH; i++)
        if (m[i] != 0)
            x[i] = a[i];
}

/* a * b + c, c - a * b, rounded once. */
static inline vec v_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

static inline vec v_fnma(vec a, vec b, vec c)
{
    return vfmsq_f32(c, a, b);
}

static inline vec v_min(vec a, vec b)
{
    return vminq_f32(a, b);
}

static inline vec v_max(vec a, vec b)
{
    return vmaxq_f32(a, b);
}

static inline vec v_sqrt(vec a)
{
    return vsqrtq_f32(a);
}

static inline vec v_abs(vec a)
{
    return vabsq_f32(a);
}

static inline vec v_reciprocal(vec a)
{
    return v_set1(1.0f) / a;
}

/* To the nearest, ties to even. */
static inline vec v_round(vec a)
{
    return vrndnq_f32(a);
}

static inline veci v_to_int(vec a)
{
    return vcvtnq_s32_f32(a);
}

static inline vec v_to_float(veci a)
{
    return vcvtq_f32_s32(a);
}

static inline vec v_as_float(veci a)
{
    return vreinterpretq_f32_s32(a);
}

static inline veci v_as_int(vec a)
{
    return vreinterpretq_s32_f32(a);
}

static inline vmask v_less(vec a, vec b)
{
    return vcltq_f32(a, b);
}

static inline vmask v_less_equal(vec a, vec b)
{
    return vcleq_f32(a, b);
}

/* m ? a : b */
static inline vec v_select(vmask m, vec a, vec b)
{
    return vbslq_f32(m, a, b);
}

static inline veci vi_add(veci a, veci b)
{
    return vaddq_s32(a, b);
}

static inline veci vi_sub(veci a, veci b)
{
    return vsubq_s32(a, b);
}

/* a * 2^23, a / 2^23 as a signed integer: a float's exponent field. */
static inline veci vi_to_exponent(veci a)
{
    return vshlq_n_s32(a, 23);
}

static inline veci vi_from_exponent(veci a)
{
    return vshrq_n_s32(a, 23);
}

/* first + the lanes below VEC_WIDTH whose bit is set, in order; writes
 * VEC_WIDTH integers and returns how many count. Higher bits do not matter. */
static inline int32_t v_pick(int32_t *out, int32_t first, uint32_t bits)
{
    static const int32_t lanes[16][VEC_WIDTH] = {{0}, {0}, {1}, {0, 1}, {2},
        {0, 2}, {1, 2}, {0, 1, 2}, {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3},
        {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};

    vi_store(out, vi_add(vi_load(lanes[bits & 15u]), vi_set1(first)));
    return __builtin_popcount(bits & 15u);
}

/* The sum of the lanes, added as a tree of fixed form. */
static inline float v_sum(vec a)
{
    const vec pair = vpaddq_f32(a, a);

    return pair[0] + pair[1];
}

/* Lane i of the result is the sum of the lanes of x[i]: a transpose that adds.
 */
static inline vec v_sum_rows(const vec x[VEC_WIDTH])
{
    return vpaddq_f32(vpaddq_f32(x[0], x[1]), vpaddq_f32(x[2], x[3]));
}

/* a * 2^n for whole n; both normal, and the result. */
static inline vec v_scale(vec a, vec n)
{
    return v_as_float(vi_add(v_as_int(a), vi_to_exponent(v_to_int(n))));
}

#endif
