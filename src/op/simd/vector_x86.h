/* op/simd/vector_x86.h -- what has one instruction of the same name, VEC(name),
 * in AVX2 and in AVX-512; see vector.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_VECTOR_X86_H
#define ETX_OP_SIMD_VECTOR_X86_H

#ifdef __AVX512F__
#include "op/simd/vector512.h"
#else
#include "op/simd/vector256.h"
#endif

static inline vec v_zero(void)
{
    return VEC(setzero_ps)();
}

static inline vec v_set1(float x)
{
    return VEC(set1_ps)(x);
}

static inline vec v_load(const float *x)
{
    return VEC(loadu_ps)(x);
}

static inline void v_store(float *x, vec a)
{
    VEC(storeu_ps)(x, a);
}

/* a * b + c, c - a * b, rounded once. */
static inline vec v_fma(vec a, vec b, vec c)
{
    return VEC(fmadd_ps)(a, b, c);
}

static inline vec v_fnma(vec a, vec b, vec c)
{
    return VEC(fnmadd_ps)(a, b, c);
}

static inline vec v_min(vec a, vec b)
{
    return VEC(min_ps)(a, b);
}

static inline vec v_max(vec a, vec b)
{
    return VEC(max_ps)(a, b);
}

static inline vec v_sqrt(vec a)
{
    return VEC(sqrt_ps)(a);
}

static inline veci v_to_int(vec a)
{
    return VEC(cvtps_epi32)(a);
}

static inline vec v_to_float(veci a)
{
    return VEC(cvtepi32_ps)(a);
}

static inline veci vi_set1(int32_t x)
{
    return VEC(set1_epi32)(x);
}

static inline veci vi_add(veci a, veci b)
{
    return VEC(add_epi32)(a, b);
}

static inline veci vi_sub(veci a, veci b)
{
    return VEC(sub_epi32)(a, b);
}

static inline veci vi_max(veci a, veci b)
{
    return VEC(max_epi32)(a, b);
}

/* c + the products of the two int16 in each lane of a and b. By name, as from
 * intrinsics gcc makes sums of sums, for which the registers do not suffice. */
static inline veci vi_add_products(veci c, veci a, veci b)
{
#ifdef __AVX512VNNI__
    __asm__("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
#else
    __asm__("vpaddd %1, %0, %0" : "+v"(c) : "v"(VEC(madd_epi16)(a, b)));
#endif
    return c;
}

/* a * 2^23, a / 2^23 as a signed integer: a float's exponent field. */
static inline veci vi_to_exponent(veci a)
{
    return VEC(slli_epi32)(a, 23);
}

static inline veci vi_from_exponent(veci a)
{
    return VEC(srai_epi32)(a, 23);
}

#endif
