/* base/decimal.h -- decimal numbers to binary ones, as far as 64 bits tell.
 *
 * Integer arithmetic only: neither the host's rounding mode nor its traps
 * matter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_DECIMAL_H
#define ETX_BASE_DECIMAL_H

#include <stdint.h>

/* A binary floating-point format of IEEE 754. */
struct etx_float_format {
    int32_t n_mantissa; /* bits that are stored */
    int32_t n_exponent;
};

extern const struct etx_float_format etx_format_of_float;
extern const struct etx_float_format etx_format_of_double;

enum etx_rounding { ETX_ROUNDED, ETX_INFINITE, ETX_UNSURE };

/* Bits of the number nearest to significand * 10^exponent, ties to even.
 * ETX_UNSURE, about once in 2^38 floats and once in 2^10 doubles: 64 bits of
 * the power of ten are not enough to tell. */
enum etx_rounding etx_decimal_to_bits(uint64_t *bits, uint64_t significand,
    int64_t exponent, const struct etx_float_format *format);

#endif
