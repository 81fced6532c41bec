/* base/bfloat16.c -- floats in half the bits: bfloat16.
 *
 * Half a unit of the last kept bit is added, one less where that bit is even,
 * and the lower bits are cut off; a carry into the exponent is right as it is.
 * Loops without a branch, which the compiler vectorises.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/bfloat16.h"

#include <string.h>

#define HALF_UNIT 0x7fffu
#define SIGN      0x80000000u
#define INFINITE  0x7f800000u
#define QUIET     0x0040u

static uint16_t round_bits(uint32_t bits)
{
    const uint32_t is_nan = (bits & ~SIGN) > INFINITE;
    const uint32_t rounded = (bits + HALF_UNIT + (bits >> 16 & 1u)) >> 16;
    const uint32_t quiet = bits >> 16 | QUIET;

    return (uint16_t)(is_nan ? quiet : rounded);
}

void etx_bfloat16_from_floats(uint16_t *out, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, x + i, sizeof bits);
        out[i] = round_bits(bits);
    }
}

void etx_bfloat16_to_floats(float *out, const uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)x[i] << 16;

        memcpy(out + i, &bits, sizeof bits);
    }
}
