/* op/simd/vector512.h -- vectors of AVX-512; see vector.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_VECTOR512_H
#define ETX_OP_SIMD_VECTOR512_H

#include <immintrin.h>
#include <stdint.h>

#define VEC_WIDTH     16
#define VEC_REGISTERS 32
#define VEC(name)     _mm512_##name

typedef __m512 vec;
typedef __m512i veci;
typedef __mmask16 vmask;

/* Lanes below n, 0 <= n; all of them from VEC_WIDTH on. */
static inline vmask v_first(int32_t n)
{
    return (vmask)(n >= VEC_WIDTH ? 0xffffu : (1u << n) - 1u);
}

/* Zero where the mask is not set; memory there is not read. */
static inline vec v_load_mask(const float *x, vmask m)
{
    return _mm512_maskz_loadu_ps(m, x);
}

static inline void v_store_mask(float *x, vec a, vmask m)
{
    _mm512_mask_storeu_ps(x, m, a);
}

static inline vec v_abs(vec a)
{
    return _mm512_abs_ps(a);
}

/* 1 / a within 1 ulp; a finite and normal, 1 / a too. */
static inline vec v_reciprocal(vec a)
{
    const vec r = _mm512_rcp14_ps(a);
    return _mm512_fmadd_ps(r, _mm512_fnmadd_ps(a, r, _mm512_set1_ps(1.0f)), r);
}

static inline vec v_round(vec a)
{
    return _mm512_roundscale_ps(
        a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec v_as_float(veci a)
{
    return _mm512_castsi512_ps(a);
}

static inline veci v_as_int(vec a)
{
    return _mm512_castps_si512(a);
}

static inline vmask v_less(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

static inline vmask v_less_equal(vec a, vec b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

/* m ? a : b */
static inline vec v_select(vmask m, vec a, vec b)
{
    return _mm512_mask_blend_ps(m, b, a);
}

static inline uint32_t v_bits(vmask m)
{
    return m;
}

/* first + the lanes below VEC_WIDTH whose bit is set, in order; writes
 * VEC_WIDTH integers and returns how many count. Higher bits do not matter. */
static inline int32_t v_pick(int32_t *out, int32_t first, uint32_t bits)
{
    const __m512i lane =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i all = _mm512_add_epi32(_mm512_set1_epi32(first), lane);

    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32((vmask)bits, all));
    return __builtin_popcount(bits & 0xffffu);
}

static inline veci vi_load(const int32_t *x)
{
    return _mm512_loadu_si512(x);
}

static inline void vi_store(int32_t *x, veci a)
{
    _mm512_storeu_si512(x, a);
}

static inline void vi_store_mask(int32_t *x, veci a, vmask m)
{
    _mm512_mask_storeu_epi32(x, m, a);
}

/* The lanes of low, then of high, as int16, by saturation. */
static inline veci vi_narrow(veci low, veci high)
{
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
        _mm512_packs_epi32(low, high));
}

static inline int32_t vi_largest(veci a)
{
    return _mm512_reduce_max_epi32(a);
}

/* The sum of the lanes, added as a tree of fixed form. */
static inline float v_sum(vec a)
{
    const __m256 half =
        _mm512_castps512_ps256(a) + _mm512_extractf32x8_ps(a, 1);
    const __m128 quarter =
        _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
    const __m128 pair = quarter + _mm_movehl_ps(quarter, quarter);
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

/* Lane i of the result is the sum of the lanes of x[i]: a transpose that adds.
 * Every step halves the number of vectors: half of the lanes of x[i] are added
 * to the others, the same for x[i + n], and the sums fill one vector. x
 * [VEC_WIDTH] is overwritten. */
static inline vec v_sum_rows(vec x[VEC_WIDTH])
{
    for (int i = 0; i < 8; i++)
        x[i] = _mm512_shuffle_f32x4(x[i], x[i + 8], 0x88) +
               _mm512_shuffle_f32x4(x[i], x[i + 8], 0xdd);
    for (int i = 0; i < 4; i++)
        x[i] = _mm512_shuffle_f32x4(x[i], x[i + 4], 0x88) +
               _mm512_shuffle_f32x4(x[i], x[i + 4], 0xdd);
    for (int i = 0; i < 2; i++)
        x[i] = _mm512_unpacklo_ps(x[i], x[i + 2]) +
               _mm512_unpackhi_ps(x[i], x[i + 2]);
    x[0] = _mm512_unpacklo_ps(x[0], x[1]) + _mm512_unpackhi_ps(x[0], x[1]);
    /* The two middle quarters are swapped. */
    return _mm512_shuffle_f32x4(x[0], x[0], 0xd8);
}

/* a * 2^n for whole n. */
static inline vec v_scale(vec a, vec n)
{
    return _mm512_scalef_ps(a, n);
}

#endif
