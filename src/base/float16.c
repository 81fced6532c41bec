/* base/float16.c -- floats in half the bits: float16 of IEEE 754.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/float16.h"

#include <string.h>

#define INFINITE32 0x7f800000u
#define INFINITE16 0x7c00u
#define QUIET16    0x0200u
#define LEAST32    0x38800000u /* 2^-14, the smallest normal float16 */
#define BEYOND32   0x47800000u /* 2^16 */

/* Below 2^-14 float16 is a number of steps of 2^-24, which the sum with 0.5
 * leaves in the last bits of a float32, rounded as it should be. */
static uint32_t round_small(uint32_t magnitude)
{
    float x;
    uint32_t bits;

    memcpy(&x, &magnitude, sizeof x);
    x += 0.5f;
    memcpy(&bits, &x, sizeof bits);
    return bits - 0x3f000000u;
}

/* The exponent's bias goes from 127 to 15; a carry out of the fraction is
 * right as it is, up to infinity. */
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
        return (uint16_t)(sign | INFINITE16 | QUIET16);
    if (magnitude >= BEYOND32)
        return (uint16_t)(sign | INFINITE16);
    return (uint16_t)(sign | (magnitude < LEAST32 ? round_small(magnitude)
                                                  : round_normal(magnitude)));
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
