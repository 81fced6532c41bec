/* base/decimal.h -- exact steps between decimal and binary numbers.
 *
 * Integer arithmetic only: neither the host's rounding mode nor its traps
 * matter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_DECIMAL_H
#define ETX_BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* More digits than this never change a double, except by not being zero. */
#define ETX_MAX_DIGITS 800

/* A binary floating-point format of IEEE 754. */
struct etx_float_format {
    int32_t n_mantissa; /* bits that are stored */
    int32_t n_exponent;
};

extern const struct etx_float_format etx_format_of_float;
extern const struct etx_float_format etx_format_of_double;

/* Bits of the number nearest to significand * 10^exponent, ties to even.
 * False when that is infinite. */
bool etx_decimal_to_bits(uint64_t *bits, uint64_t significand, int64_t exponent,
    const struct etx_float_format *format);

/* The same for digits [n_digits] of values 0-9, the first one not 0;
 * n_digits is at most ETX_MAX_DIGITS + 1. */
bool etx_digits_to_bits(uint64_t *bits, const uint8_t *digits, int64_t n_digits,
    int64_t exponent, const struct etx_float_format *format);

/* The integer part of mantissa * 2^binary * 10^decimal, which must be below
 * 2^62; *more says whether there is a fraction. mantissa > 0. */
uint64_t etx_binary_to_decimal(
    bool *more, uint64_t mantissa, int32_t binary, int32_t decimal);

#endif
