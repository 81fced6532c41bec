/* op/simd/vector256.h -- vectors of AVX2 and FMA; see vector.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_VECTOR256_H
#define ETX_OP_SIMD_VECTOR256_H

#include <immintrin.h>
#include <stdint.h>

#define VEC_WIDTH     8
#define VEC_REGISTERS 16
#define VEC(name)     _mm256_##name

typedef __m256 vec;
typedef __m256i veci;
typedef __m256 vmask;

/* Lanes below n, 0 <= n; all of them from VEC_WIDTH on. */
static inline vmask v_first(int32_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane));
}

/* Zero where the mask is not set; memory there is not read. */
static inline vec v_load_mask(const float *x, vmask m)
{
    return _mm256_maskload_ps(x, _mm256_castps_si256(m));
}

static inline void v_store_mask(float *x, vec a, vmask m)
{
    _mm256_maskstore_ps(x, _mm256_castps_si256(m), a);
}

static inline vec v_abs(vec a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}

/* 1 / a within 1 ulp; a finite and normal, 1 / a too. */
static inline vec v_reciprocal(vec a)
{
    return _mm256_set1_ps(1.0f) / a;
}

static inline vec v_round(vec a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline vec v_as_float(veci a)
{
    return _mm256_castsi256_ps(a);
}

static inline veci v_as_int(vec a)
{
    return _mm256_castps_si256(a);
}

static inline vmask v_less(vec a, vec b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

static inline vmask v_less_equal(vec a, vec b)
{
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}

/* m ? a : b */
static inline vec v_select(vmask m, vec a, vec b)
{
    return _mm256_blendv_ps(b, a, m);
}

static inline uint32_t v_bits(vmask m)
{
    return (uint32_t)_mm256_movemask_ps(m);
}

/* The same for four lanes; a byte of a word is a lane. */
static inline int32_t v_pick4(int32_t *out, int32_t first, uint32_t bits)
{
    static const uint32_t lanes[16] = {0x0, 0x0, 0x1, 0x100, 0x2, 0x200, 0x201,
        0x20100, 0x3, 0x300, 0x301, 0x30100, 0x302, 0x30200, 0x30201,
        0x3020100};
    const __m128i lane =
        _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int32_t)lanes[bits]));

    _mm_storeu_si128(
        (__m128i_u *)out, _mm_add_epi32(lane, _mm_set1_epi32(first)));
    return __builtin_popcount(bits);
}

/* first + the lanes below VEC_WIDTH whose bit is set, in order; writes
 * VEC_WIDTH integers and returns how many count. Higher bits do not matter. */
static inline int32_t v_pick(int32_t *out, int32_t first, uint32_t bits)
{
    const int32_t n = v_pick4(out, first, bits & 15u);

    return n + v_pick4(out + n, first + 4, bits >> 4 & 15u);
}

static inline veci vi_load(const int32_t *x)
{
    return _mm256_loadu_si256((const __m256i_u *)x);
}

static inline void vi_store(int32_t *x, veci a)
{
    _mm256_storeu_si256((__m256i_u *)x, a);
}

static inline void vi_store_mask(int32_t *x, veci a, vmask m)
{
    _mm256_maskstore_epi32(x, _mm256_castps_si256(m), a);
}

/* The lanes of low, then of high, as int16, by saturation. */
static inline veci vi_narrow(veci low, veci high)
{
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
}

static inline int32_t vi_largest(veci a)
{
    const __m128i half = _mm_max_epi32(
        _mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    const __m128i pair = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4e));

    return _mm_cvtsi128_si32(
        _mm_max_epi32(pair, _mm_shuffle_epi32(pair, 0xb1)));
}

/* The sum of the lanes, added as a tree of fixed form. */
static inline float v_sum(vec a)
{
    const __m128 quarter =
        _mm256_castps256_ps128(a) + _mm256_extractf128_ps(a, 1);
    const __m128 pair = quarter + _mm_movehl_ps(quarter, quarter);
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}

/* Lane i of the result is the sum of the lanes of x[i]: a transpose that adds.
 * x [VEC_WIDTH] is overwritten. */
static inline vec v_sum_rows(vec x[VEC_WIDTH])
{
    for (int i = 0; i < 4; i++)
        x[i] = _mm256_hadd_ps(x[2 * i], x[2 * i + 1]);
    for (int i = 0; i < 2; i++)
        x[i] = _mm256_hadd_ps(x[2 * i], x[2 * i + 1]);
    return _mm256_permute2f128_ps(x[0], x[1], 0x20) +
           _mm256_permute2f128_ps(x[0], x[1], 0x31);
}

/* a * 2^n for whole n; both normal, and the result. */
static inline vec v_scale(vec a, vec n)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(
        _mm256_castps_si256(a), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}

#endif
