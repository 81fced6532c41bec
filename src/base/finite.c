/* base/finite.c -- find numbers that are not finite, or too large.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/finite.h"

#include <inttypes.h>
#include <string.h>

#define SIGN  0x80000000u
#define BLOCK 1024

/* Without the sign, whose order is that of the magnitudes: NaN last. */
static uint32_t bits_of(const float *value)
{
    uint32_t bits;

    memcpy(&bits, value, sizeof bits);
    return bits & ~SIGN;
}

/* A block is counted without a branch, which the compiler vectorises; only
 * the first bad block is searched. */
int64_t etx_find_beyond(const float *values, int64_t count, float bound)
{
    const uint32_t most = bits_of(&bound);

    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        const int64_t end = count - begin < BLOCK ? count : begin + BLOCK;
        uint32_t n_bad = 0;

        for (int64_t i = begin; i < end; i++)
            n_bad += bits_of(values + i) > most;
        if (n_bad == 0)
            continue;
        for (int64_t i = begin; i < end; i++)
            if (bits_of(values + i) > most)
                return i;
    }
    return -1;
}

int64_t etx_find_not_finite(const float *values, int64_t count)
{
    return etx_find_beyond(values, count, FLT_MAX);
}

etx_status etx_check_within(const char *what, const char *row,
    const float *values, int64_t n_rows, int64_t n_columns, float bound)
{
    const int64_t bad = etx_find_beyond(values, n_rows * n_columns, bound);

    if (bad < 0)
        return ETX_OK;
    return etx_fail(ETX_ERR_LIMIT,
        "%s: %.9g of %s %" PRId64 ", column %" PRId64 ", is not in +-%g", what,
        (double)values[bad], row, bad / n_columns, bad % n_columns,
        (double)bound);
}
