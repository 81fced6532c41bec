/* base/text_format.c -- numbers into text, independent of the host's locale.
 *
 * A floating-point number is written with the fewest digits that read back to
 * the same bits (the problem of Steele and White, "How to print floating-point
 * numbers accurately", PLDI 1990): the exact value is cut to 9 or 17 digits,
 * which always suffice, and shortened digit by digit as long as one of the two
 * neighbours still reads back.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/decimal.h"

#include <string.h>

static const uint64_t power_of_ten[] = {1, 10, 100, 1000, 10000, 100000,
    1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000,
    10000000000000000, 100000000000000000};

/* significand * 10^exponent */
struct shortest {
    uint64_t significand;
    int32_t exponent;
};

static bool reads_back(struct shortest number, uint64_t bits,
    const struct etx_float_format *format)
{
    uint64_t back = 0;

    return etx_decimal_to_bits(
               &back, number.significand, number.exponent, format) &&
           back == bits;
}

/* The first n_max digits of a number, and half a digit more for rounding. */
struct exact {
    uint64_t twice; /* floor(2 * number / 10^exponent) */
    bool more;      /* the number has further digits */
    int32_t exponent;
};

/* Cut exact by n_cut digits: one of its two neighbours of that length, the
 * nearer one if both read back; false when neither does. */
static bool shorten(struct shortest *out, const struct exact *exact,
    int32_t n_cut, uint64_t bits, const struct etx_float_format *format)
{
    const uint64_t half = power_of_ten[n_cut];
    const uint64_t rest = exact->twice % (2 * half);
    const bool is_up = rest > half || (rest == half && exact->more);

    for (int trial = 0; trial < 2; trial++) {
        const struct shortest number = {
            .significand = exact->twice / (2 * half) + (is_up == (trial == 0)),
            .exponent = exact->exponent + n_cut,
        };

        if (reads_back(number, bits, format)) {
            *out = number;
            return true;
        }
    }
    return false;
}

/* bits: of a finite, positive number. */
static struct exact exact_digits(
    uint64_t bits, const struct etx_float_format *format, int32_t n_max)
{
    const uint64_t implicit = (uint64_t)1 << format->n_mantissa;
    const int32_t bias = (1 << (format->n_exponent - 1)) - 1;
    const int32_t stored = (int32_t)(bits >> format->n_mantissa);
    const uint64_t mantissa =
        (bits & (implicit - 1)) | (stored > 0 ? implicit : 0);
    const int32_t binary =
        (stored > 0 ? stored : 1) - bias - format->n_mantissa;
    const int32_t log2_value = binary + 63 - __builtin_clzll(mantissa);
    struct exact exact = {.twice = 0};

    /* floor(log10) or one less: 78913 / 2^18 is just below log10(2). */
    exact.exponent = ((log2_value * 78913) >> 18) - (n_max - 1);
    exact.twice = etx_binary_to_decimal(
        &exact.more, mantissa, binary + 1, -exact.exponent);
    if (exact.twice >= 2 * power_of_ten[n_max]) {
        exact.exponent++;
        exact.twice = etx_binary_to_decimal(
            &exact.more, mantissa, binary + 1, -exact.exponent);
    }
    return exact;
}

/* The shortest number that reads back to bits. If n digits suffice, so do
 * n + 1: digits are cut until reading back fails; trailing zeros go together.
 */
static struct shortest find_shortest(
    uint64_t bits, const struct etx_float_format *format, int32_t n_max)
{
    const struct exact exact = exact_digits(bits, format, n_max);
    struct shortest number = {.significand = 0};
    int32_t n_cut = 0;

    while (n_cut < n_max && shorten(&number, &exact, n_cut, bits, format)) {
        while (number.significand % 10 == 0) {
            number.significand /= 10;
            number.exponent++;
        }
        n_cut = number.exponent - exact.exponent + 1;
    }
    return number;
}

/* Digits of value before end; returns their begin. */
static char *write_digits(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return end;
}

/* 12.5, 0.001, 1e-7, 1.25e30 */
static int32_t write_number(char *text, struct shortest number)
{
    char digits[24];
    char *out = text;
    const char *first =
        write_digits(digits + sizeof digits, number.significand);
    const int32_t n = (int32_t)(digits + sizeof digits - first);
    const int32_t point = n + number.exponent; /* digits before the dot */

    if (point > -4 && point <= 0) {
        memcpy(out, "0.000", (size_t)(2 - point));
        out += 2 - point;
        memcpy(out, first, (size_t)n);
        out += n;
    } else if (point > 0 && point <= 17) {
        for (int32_t i = 0; i < n || i < point; i++) {
            if (i == point)
                *out++ = '.';
            *out++ = i < n ? first[i] : '0';
        }
    } else {
        *out++ = first[0];
        if (n > 1)
            *out++ = '.';
        memcpy(out, first + 1, (size_t)(n - 1));
        out += n - 1;
        *out++ = 'e';
        out += etx_format_int64(out, point - 1);
    }
    *out = '\0';
    return (int32_t)(out - text);
}

static int32_t format_bits(char *text, uint64_t bits,
    const struct etx_float_format *format, int32_t n_max)
{
    const int32_t sign_bit = format->n_mantissa + format->n_exponent;
    const uint64_t sign = (uint64_t)1 << sign_bit;
    const uint64_t infinity = sign - ((uint64_t)1 << format->n_mantissa);
    const uint64_t size = bits & (sign - 1);
    char *out = text;

    if (size > infinity) {
        memcpy(text, "nan", 4);
        return 3;
    }
    if ((bits & sign) != 0)
        *out++ = '-';
    if (size == infinity) {
        memcpy(out, "inf", 4);
        out += 3;
    } else if (size == 0) {
        memcpy(out, "0", 2);
        out += 1;
    } else {
        out += write_number(out, find_shortest(size, format, n_max));
    }
    return (int32_t)(out - text);
}

int32_t etx_format_float(char *text, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return format_bits(text, bits, &etx_format_of_float, 9);
}

int32_t etx_format_double(char *text, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return format_bits(text, bits, &etx_format_of_double, 17);
}

int32_t etx_format_int64(char *text, int64_t value)
{
    char digits[24];
    char *out = text;
    const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const char *first = write_digits(digits + sizeof digits, size);
    const size_t n = (size_t)(digits + sizeof digits - first);

    if (value < 0)
        *out++ = '-';
    memcpy(out, first, n);
    out[n] = '\0';
    return (int32_t)(out + n - text);
}
