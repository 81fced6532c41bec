/* base/finite.c -- find numbers that are not finite.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/finite.h"

#include <string.h>

#define EXPONENT 0x7f800000u
#define BLOCK    1024

static uint32_t bits_of(const float *value)
{
    uint32_t bits;

    memcpy(&bits, value, sizeof bits);
    return bits;
}

/* A block is counted without a branch, which the compiler vectorises; only
 * the first bad block is searched. */
int64_t etx_find_not_finite(const float *values, int64_t count)
{
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        const int64_t end = count - begin < BLOCK ? count : begin + BLOCK;
        uint32_t n_bad = 0;

        for (int64_t i = begin; i < end; i++)
            n_bad += (bits_of(values + i) & EXPONENT) == EXPONENT;
        if (n_bad == 0)
            continue;
        for (int64_t i = begin; i < end; i++)
            if ((bits_of(values + i) & EXPONENT) == EXPONENT)
                return i;
    }
    return -1;
}
