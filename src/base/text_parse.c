/* base/text_parse.c -- numbers out of text, whatever the host's locale.
 *
 * What 64 bits do not decide, the C library does: the digits without a dot,
 * whose letter depends on the locale, under the default rounding mode.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/decimal.h"
#include "base/float_environment.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT_DIGITS 19 /* that any uint64_t holds */
/* More digits than this never change a double, except by not being zero. */
#define MAX_DIGITS 800
/* A written exponent is capped here: no text has digits enough to scale such a
 * number back to between zero and infinity. */
#define MAX_EXPONENT INT64_C(1000000000000000)

/* The parts of a number in text. */
struct number_text {
    bool is_negative;
    uint64_t significand; /* of the first MAX_EXACT_DIGITS digits */
    int64_t exponent;     /* of ten, for significand */
    int64_t n_digits;
    const char *digits; /* the first of them; one dot may lie between */
    const char *end;    /* of the number */
};

static bool is_digit(char letter)
{
    return (unsigned)letter - '0' < 10;
}

/* [+-] digits after the e at `at`: added to *exponent, *end moved past them;
 * nothing happens when there are none. */
static void read_exponent(
    int64_t *exponent, const char **end, const char *at, const char *last)
{
    bool is_negative = false;
    int64_t value = 0;

    at++;
    if (at != last && (*at == '+' || *at == '-'))
        is_negative = *at++ == '-';
    if (at == last || !is_digit(*at))
        return;
    for (; at != last && is_digit(*at); at++)
        if (value < MAX_EXPONENT)
            value = value * 10 + (*at - '0');
    *exponent += is_negative ? -value : value;
    *end = at;
}

/* Read digits into *significand, which may wrap around. */
static inline const char *read_digits(
    uint64_t *significand, const char *at, const char *last)
{
    for (; at != last && is_digit(*at); at++)
        *significand = *significand * 10 + (uint64_t)(*at - '0');
    return at;
}

/* Reduce a number of many digits, whose significand may have wrapped around,
 * to its first MAX_EXACT_DIGITS significant digits. */
static void cut_digits(struct number_text *number)
{
    const char *at = number->digits;
    int64_t n_used = 0;

    for (; number->n_digits > 0 && (*at == '0' || *at == '.'); at++)
        number->n_digits -= *at == '0';
    number->digits = at;
    if (number->n_digits <= MAX_EXACT_DIGITS)
        return;
    number->significand = 0;
    for (; n_used < MAX_EXACT_DIGITS; at++) {
        if (*at == '.')
            continue;
        number->significand = number->significand * 10 + (uint64_t)(*at - '0');
        n_used++;
    }
    number->exponent += number->n_digits - MAX_EXACT_DIGITS;
}

static inline bool read_number(
    struct number_text *number, const char *at, const char *last)
{
    uint64_t significand = 0;
    int64_t exponent = 0;

    number->is_negative = false;
    if (at != last) { /* no branch on the sign, which is as good as random */
        number->is_negative = *at == '-';
        at += (*at == '-') | (*at == '+');
    }
    number->digits = at;
    at = read_digits(&significand, at, last);
    number->n_digits = at - number->digits;
    if (at != last && *at == '.') {
        const char *fraction = at + 1;

        at = read_digits(&significand, fraction, last);
        exponent = fraction - at;
        number->n_digits -= exponent;
    }
    if (number->n_digits == 0)
        return false;
    number->end = at;
    if (at != last && (*at == 'e' || *at == 'E'))
        read_exponent(&exponent, &number->end, at, last);
    number->significand = significand;
    number->exponent = exponent;
    if (number->n_digits > MAX_EXACT_DIGITS)
        cut_digits(number);
    return true;
}

/* All digits, as far as they can matter, as "digits e exponent". */
static void write_digits(
    char text[MAX_DIGITS + 32], const struct number_text *number)
{
    int64_t exponent = number->exponent;
    int64_t n_kept = 0;
    int64_t n_seen = 0;
    bool more = false;

    for (const char *at = number->digits; n_seen < number->n_digits; at++) {
        if (*at == '.')
            continue;
        n_seen++;
        if (n_kept < MAX_DIGITS)
            text[n_kept++] = *at;
        else
            more = more || *at != '0';
    }
    if (n_seen > MAX_EXACT_DIGITS)
        exponent += MAX_EXACT_DIGITS - n_kept;
    if (more) {
        text[n_kept++] = '1';
        exponent--;
    }
    text[n_kept++] = 'e';
    (void)etx_format_int64(text + n_kept, exponent);
}

static __attribute__((noinline)) enum etx_rounding round_exactly(uint64_t *bits,
    const struct number_text *number, const struct etx_float_format *format)
{
    char text[MAX_DIGITS + 32];
    fenv_t host;
    double wide = 0.0;
    float narrow = 0.0f;
    uint32_t narrow_bits;

    write_digits(text, number);
    etx_float_environment_enter(&host);
    if (format == &etx_format_of_double)
        wide = strtod(text, NULL);
    else
        narrow = strtof(text, NULL);
    etx_float_environment_leave(&host);
    memcpy(bits, &wide, sizeof wide);
    memcpy(&narrow_bits, &narrow, sizeof narrow);
    *bits |= narrow_bits;
    return isinf(wide) || isinf(narrow) ? ETX_INFINITE : ETX_ROUNDED;
}

/* Bits of the nearest number, with sign; false when it is infinite. */
static inline bool round_number(uint64_t *bits,
    const struct number_text *number, const struct etx_float_format *format)
{
    const int sign_bit = format->n_mantissa + format->n_exponent;
    uint64_t low = 0, high = 0;
    enum etx_rounding rounding = etx_decimal_to_bits(
        &low, number->significand, number->exponent, format);

    if (number->n_digits > MAX_EXACT_DIGITS &&
        (rounding != etx_decimal_to_bits(&high, number->significand + 1,
                         number->exponent, format) ||
            low != high))
        rounding = ETX_UNSURE;
    if (rounding == ETX_UNSURE)
        rounding = round_exactly(&low, number, format);
    *bits = low | (uint64_t)number->is_negative << sign_bit;
    return rounding == ETX_ROUNDED;
}

const char *etx_parse_float(float *value, const char *begin, const char *end)
{
    struct number_text number;
    uint64_t bits;

    if (!read_number(&number, begin, end) ||
        !round_number(&bits, &number, &etx_format_of_float))
        return NULL;

    const uint32_t narrow = (uint32_t)bits;
    memcpy(value, &narrow, sizeof *value);
    return number.end;
}

const char *etx_parse_double(double *value, const char *begin, const char *end)
{
    struct number_text number;
    uint64_t bits;

    if (!read_number(&number, begin, end) ||
        !round_number(&bits, &number, &etx_format_of_double))
        return NULL;
    memcpy(value, &bits, sizeof *value);
    return number.end;
}

/* The same digits again, where they may be too many for 64 bits. */
static bool read_long_integer(
    uint64_t *size, const char *at, const char *end, uint64_t max)
{
    *size = 0;
    for (; at != end; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');

        if (*size > (max - digit) / 10)
            return false;
        *size = *size * 10 + digit;
    }
    return true;
}

const char *etx_parse_int64(int64_t *value, const char *begin, const char *end)
{
    const bool is_negative = begin != end && *begin == '-';
    const bool has_sign = begin != end && (*begin == '+' || *begin == '-');
    const char *digits = begin + has_sign;
    uint64_t size = 0;
    const char *last = read_digits(&size, digits, end);

    if (last == digits)
        return NULL;
    if (last - digits >= MAX_EXACT_DIGITS &&
        !read_long_integer(
            &size, digits, last, (uint64_t)INT64_MAX + is_negative))
        return NULL;
    *value = (int64_t)(is_negative ? 0 - size : size);
    return last;
}

size_t etx_utf8_length(const char *at, const char *end)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = (unsigned char)*at;
    const size_t n = first < 0x80   ? 1
                     : first < 0xc0 ? 0
                     : first < 0xe0 ? 2
                     : first < 0xf0 ? 3
                     : first < 0xf8 ? 4
                                    : 0;
    uint32_t code = n <= 1 ? first : first & (0xffu >> (n + 1));

    if (n == 0 || (size_t)(end - at) < n)
        return 0;
    for (size_t k = 1; k < n; k++) {
        const unsigned char byte = (unsigned char)at[k];

        if ((byte & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte & 0x3fu);
    }
    return code < least[n] || code > 0x10ffff ||
                   (code >= 0xd800 && code < 0xe000)
               ? 0
               : n;
}
