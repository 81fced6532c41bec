/* base/decimal.c -- decimal numbers to binary ones, as far as 64 bits tell.
 *
 * A number w * 10^e is scaled with a table of 64-bit powers of five (the idea
 * of Lemire, "Number parsing at a gigabyte per second", Softw. Pract. Exp. 51
 * (2021), with half the width): the product is exact up to its last two units.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <stdbool.h>

#define MIN_POWER       (-64)
#define MAX_POWER       38
#define MAX_EXACT_POWER 27
/* 10^19 times ten to less than this is nearer to zero than to any double, and
 * ten to more than that is infinite. */
#define MIN_DECIMAL (-343)
#define MAX_DECIMAL 308

__extension__ typedef unsigned __int128 uint128;

/* 5^e scaled to 64 bits and cut, e = MIN_POWER .. MAX_POWER; whole for
 * e = 0 .. MAX_EXACT_POWER. */
static const uint64_t power_of_five[MAX_POWER - MIN_POWER + 1] = {
    0xa87fea27a539e9a5, 0xd29fe4b18e88640e, 0x83a3eeeef9153e89,
    0xa48ceaaab75a8e2b, 0xcdb02555653131b6, 0x808e17555f3ebf11,
    0xa0b19d2ab70e6ed6, 0xc8de047564d20a8b, 0xfb158592be068d2e,
    0x9ced737bb6c4183d, 0xc428d05aa4751e4c, 0xf53304714d9265df,
    0x993fe2c6d07b7fab, 0xbf8fdb78849a5f96, 0xef73d256a5c0f77c,
    0x95a8637627989aad, 0xbb127c53b17ec159, 0xe9d71b689dde71af,
    0x9226712162ab070d, 0xb6b00d69bb55c8d1, 0xe45c10c42a2b3b05,
    0x8eb98a7a9a5b04e3, 0xb267ed1940f1c61c, 0xdf01e85f912e37a3,
    0x8b61313bbabce2c6, 0xae397d8aa96c1b77, 0xd9c7dced53c72255,
    0x881cea14545c7575, 0xaa242499697392d2, 0xd4ad2dbfc3d07787,
    0x84ec3c97da624ab4, 0xa6274bbdd0fadd61, 0xcfb11ead453994ba,
    0x81ceb32c4b43fcf4, 0xa2425ff75e14fc31, 0xcad2f7f5359a3b3e,
    0xfd87b5f28300ca0d, 0x9e74d1b791e07e48, 0xc612062576589dda,
    0xf79687aed3eec551, 0x9abe14cd44753b52, 0xc16d9a0095928a27,
    0xf1c90080baf72cb1, 0x971da05074da7bee, 0xbce5086492111aea,
    0xec1e4a7db69561a5, 0x9392ee8e921d5d07, 0xb877aa3236a4b449,
    0xe69594bec44de15b, 0x901d7cf73ab0acd9, 0xb424dc35095cd80f,
    0xe12e13424bb40e13, 0x8cbccc096f5088cb, 0xafebff0bcb24aafe,
    0xdbe6fecebdedd5be, 0x89705f4136b4a597, 0xabcc77118461cefc,
    0xd6bf94d5e57a42bc, 0x8637bd05af6c69b5, 0xa7c5ac471b478423,
    0xd1b71758e219652b, 0x83126e978d4fdf3b, 0xa3d70a3d70a3d70a,
    0xcccccccccccccccc, 0x8000000000000000, 0xa000000000000000,
    0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000,
    0xc350000000000000, 0xf424000000000000, 0x9896800000000000,
    0xbebc200000000000, 0xee6b280000000000, 0x9502f90000000000,
    0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000,
    0xb5e620f480000000, 0xe35fa931a0000000, 0x8e1bc9bf04000000,
    0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000,
    0xad78ebc5ac620000, 0xd8d726b7177a8000, 0x878678326eac9000,
    0xa968163f0a57b400, 0xd3c21bcecceda100, 0x84595161401484a0,
    0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940984,
    0xa18f07d736b90be5, 0xc9f2c9cd04674ede, 0xfc6f7c4045812296,
    0x9dc5ada82b70b59d, 0xc5371912364ce305, 0xf684df56c3e01bc6,
    0x9a130b963a6c115c, 0xc097ce7bc90715b3, 0xf0bdc21abb48db20,
    0x96769950b50d88f4};

const struct etx_float_format etx_format_of_float = {23, 8};
const struct etx_float_format etx_format_of_double = {52, 11};

/* (high + f) * 2^exponent, where f is 0 when exact, 0 < f < 1 when more, and
 * 0 < f < 2 when loose as well. */
struct scaled {
    uint64_t high;
    int32_t exponent;
    bool more;
    bool loose;
};

static bool is_in_table(int64_t decimal)
{
    return decimal >= MIN_POWER && decimal <= MAX_POWER;
}

/* significand * 10^decimal, exact or loose; is_in_table(decimal). */
static struct scaled scale_quickly(uint64_t significand, int64_t decimal)
{
    const int shift = __builtin_clzll(significand);
    const uint128 product =
        (uint128)(significand << shift) * power_of_five[decimal - MIN_POWER];
    const bool is_exact = decimal >= 0 && decimal <= MAX_EXACT_POWER;
    /* floor(log2(10^decimal)) in fixed point; the shift rounds down. */
    const int32_t log2_power = (int32_t)((decimal * 217706) >> 16);

    return (struct scaled){
        .high = (uint64_t)(product >> 64),
        .exponent = log2_power + 1 - shift,
        .more = !is_exact || (uint64_t)product != 0,
        .loose = !is_exact,
    };
}

/* The bits nearest to value, ties to even. ETX_UNSURE when the value is loose
 * and may lie on both sides of a tie, and for a denormal: exact values are
 * larger. */
static inline enum etx_rounding round_to_bits(
    uint64_t *bits, struct scaled value, const struct etx_float_format *format)
{
    const int32_t bias = (1 << (format->n_exponent - 1)) - 1;
    const int shift = __builtin_clzll(value.high);
    const uint64_t high = value.high << shift;
    const int32_t exponent = value.exponent - shift + 63 + bias;
    const int32_t n_dropped = 63 - format->n_mantissa;

    if (exponent > 2 * bias)
        return ETX_INFINITE;
    if (exponent < 1)
        return ETX_UNSURE;

    const uint64_t kept = high >> n_dropped;
    const uint64_t rest = high << (64 - n_dropped);
    const uint64_t half = (uint64_t)1 << 63;
    /* Bit operators: no branch on what is as good as random. */
    const uint64_t is_odd = (value.more | (kept & 1)) & (rest == half);
    const uint64_t is_up = is_odd | (rest > half);

    if (value.loose) {
        const uint64_t unit = (uint64_t)1 << (64 - n_dropped + shift);

        if ((rest < half) & (rest + unit >= half))
            return ETX_UNSURE;
    }

    /* The implicit bit of kept raises exponent - 1 to exponent, and a carry
     * out of the mantissa raises it once more. */
    *bits = ((uint64_t)(exponent - 1) << format->n_mantissa) + kept + is_up;
    return *bits >> format->n_mantissa == (uint64_t)(2 * bias + 1)
               ? ETX_INFINITE
               : ETX_ROUNDED;
}

enum etx_rounding etx_decimal_to_bits(uint64_t *bits, uint64_t significand,
    int64_t exponent, const struct etx_float_format *format)
{
    if (significand == 0 || exponent < MIN_DECIMAL) {
        *bits = 0;
        return ETX_ROUNDED;
    }
    if (exponent > MAX_DECIMAL)
        return ETX_INFINITE;
    return is_in_table(exponent)
               ? round_to_bits(
                     bits, scale_quickly(significand, exponent), format)
               : ETX_UNSURE;
}
