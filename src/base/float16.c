/* base/float16.c -- float32 to float16 (IEEE 754 binary16) and back.
 *
 *             sign  exponent  fraction   bias
 *   float32   31    30..23    22..0      127
 *   float16   15    14..10     9..0       15
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/float16.h"

#include <string.h>

/* Bit patterns of a float32 (..32) or a float16 (..16). */
#define INFINITE32   0x7f800000u
#define INFINITE16   0x7c00u
#define QUIET_NAN16  0x0200u     /* the bit that makes a NaN quiet */
#define MIN_NORMAL32 0x38800000u /* 2^-14, the smallest normal float16 */
#define OVERFLOW32   0x47800000u /* 2^16: infinite as float16 */

/* Bits of a subnormal float16, a multiple of 2^-24. That is the spacing of
 * float32 at 0.5, so adding 0.5 rounds to such a multiple (ties to even), and
 * the difference to the bits of 0.5 is its number. */
static uint32_t round_subnormal(uint32_t magnitude)
{
    float x;
    uint32_t bits;

    memcpy(&x, &magnitude, sizeof x);
    x += 0.5f;
    memcpy(&bits, &x, sizeof bits);
    return bits - 0x3f000000u;
}

/* Subtract 112 = 127 - 15 from the exponent and round off 13 bits of the
 * fraction, ties to even. A carry out of the fraction increments the exponent,
 * which is right, also where it makes infinity. */
static uint32_t round_normal(uint32_t magnitude)
{
    return (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
}

uint16_t etx_float16_from_float(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;

    if (magnitude > INFINITE32)
        return (uint16_t)(sign | INFINITE16 | QUIET_NAN16);
    if (magnitude >= OVERFLOW32)
        return (uint16_t)(sign | INFINITE16);

    const uint32_t finite = magnitude < MIN_NORMAL32
                                ? round_subnormal(magnitude)
                                : round_normal(magnitude);
    return (uint16_t)(sign | finite);
}

float etx_float16_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = half >> 10 & 0x1fu;
    const uint32_t fraction = half & 0x3ffu;
    uint32_t bits = (exponent + 112u) << 23 | fraction << 13;
    float x;

    if (exponent == 0x1fu)
        bits = INFINITE32 | fraction << 13;
    if (exponent == 0)
        x = (float)fraction * 0x1p-24f;
    else
        memcpy(&x, &bits, sizeof x);
    memcpy(&bits, &x, sizeof bits);
    bits |= sign;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void etx_float16_from_floats(uint16_t *out, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = etx_float16_from_float(x[i]);
}

void etx_float16_to_floats(float *out, const uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = etx_float16_to_float(x[i]);
}
