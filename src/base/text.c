/* base/text.c -- numbers to text and back, whatever the host's locale.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/decimal.h"

#include <string.h>

#define MOST_EXACT_DIGITS 19 /* that any uint64_t holds */
/* A written exponent is cut here: no text has digits enough to bring such a
 * number back to between zero and infinity. */
#define MOST_EXPONENT INT64_C(1000000000000000)

static const uint64_t power_of_ten[] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
};

/* ------------------------------------------------------------- reading -- */

/* The parts of a number in text. */
struct number_text {
    bool is_negative;
    uint64_t significand; /* of the first MOST_EXACT_DIGITS digits */
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
        if (value < MOST_EXPONENT)
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

/* Bring a number of many digits, whose significand may have wrapped around,
 * to its first MOST_EXACT_DIGITS; leading zeros count for nothing. */
static void cut_digits(struct number_text *number)
{
    const char *at = number->digits;
    int64_t n_used = 0;

    for (; number->n_digits > 0 && (*at == '0' || *at == '.'); at++)
        number->n_digits -= *at == '0';
    number->digits = at;
    if (number->n_digits <= MOST_EXACT_DIGITS)
        return;
    number->significand = 0;
    for (; n_used < MOST_EXACT_DIGITS; at++) {
        if (*at == '.')
            continue;
        number->significand = number->significand * 10 + (uint64_t)(*at - '0');
        n_used++;
    }
    number->exponent += number->n_digits - MOST_EXACT_DIGITS;
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
    if (number->n_digits > MOST_EXACT_DIGITS)
        cut_digits(number);
    return true;
}

/* All digits of a long number, as far as they can matter. */
static bool round_long_number(uint64_t *bits, const struct number_text *number,
    const struct etx_float_format *format)
{
    uint8_t digits[ETX_MOST_DIGITS + 1];
    int64_t n_kept = 0;
    int64_t n_seen = 0;
    bool more = false;

    for (const char *at = number->digits; n_seen < number->n_digits; at++) {
        if (*at == '.')
            continue;
        n_seen++;
        if (n_kept < ETX_MOST_DIGITS)
            digits[n_kept++] = (uint8_t)(*at - '0');
        else
            more = more || *at != '0';
    }

    int64_t exponent = number->exponent + MOST_EXACT_DIGITS - n_kept;
    if (more) {
        digits[n_kept++] = 1;
        exponent--;
    }
    return etx_digits_to_bits(bits, digits, n_kept, exponent, format);
}

/* Bits of the nearest number, with sign; false when it is infinite. */
static bool round_number(uint64_t *bits, const struct number_text *number,
    const struct etx_float_format *format)
{
    const int sign_bit = format->n_mantissa + format->n_exponent;
    uint64_t low = 0, high = 0;
    bool is_finite = etx_decimal_to_bits(
        &low, number->significand, number->exponent, format);

    if (number->n_digits > MOST_EXACT_DIGITS) {
        const bool high_is_finite = etx_decimal_to_bits(
            &high, number->significand + 1, number->exponent, format);

        if (is_finite != high_is_finite || low != high)
            is_finite = round_long_number(&low, number, format);
    }
    *bits = low | (uint64_t)number->is_negative << sign_bit;
    return is_finite;
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
    uint64_t *size, const char *at, const char *end, uint64_t most)
{
    *size = 0;
    for (; at != end; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');

        if (*size > (most - digit) / 10)
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
    if (last - digits >= MOST_EXACT_DIGITS &&
        !read_long_integer(
            &size, digits, last, (uint64_t)INT64_MAX + is_negative))
        return NULL;
    *value = (int64_t)(is_negative ? 0 - size : size);
    return last;
}

/* ------------------------------------------------------------- writing -- */

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

/* The first n_most digits of a number, with half a digit more to round by. */
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

/* Of the number with these bits, which is finite and positive. */
static struct exact exact_digits(
    uint64_t bits, const struct etx_float_format *format, int32_t n_most)
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
    exact.exponent = ((log2_value * 78913) >> 18) - (n_most - 1);
    exact.twice = etx_binary_to_decimal(
        &exact.more, mantissa, binary + 1, -exact.exponent);
    if (exact.twice >= 2 * power_of_ten[n_most]) {
        exact.exponent++;
        exact.twice = etx_binary_to_decimal(
            &exact.more, mantissa, binary + 1, -exact.exponent);
    }
    return exact;
}

/* The shortest number that reads back to bits. If n digits do, so do n + 1:
 * digits are taken away until it fails, zeros at the end at once. */
static struct shortest find_shortest(
    uint64_t bits, const struct etx_float_format *format, int32_t n_most)
{
    const struct exact exact = exact_digits(bits, format, n_most);
    struct shortest number = {.significand = 0};
    int32_t n_cut = 0;

    while (n_cut < n_most && shorten(&number, &exact, n_cut, bits, format)) {
        while (number.significand % 10 == 0) {
            number.significand /= 10;
            number.exponent++;
        }
        n_cut = number.exponent - exact.exponent + 1;
    }
    return number;
}

/* Digits of value before end; returns their begin. */
static char *put_digits(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return end;
}

/* 12.5, 0.001, 1e-7, 1.25e30 */
static int32_t put_number(char *text, struct shortest number)
{
    char digits[24];
    char *out = text;
    const char *first = put_digits(digits + sizeof digits, number.significand);
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
    const struct etx_float_format *format, int32_t n_most)
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
        out += put_number(out, find_shortest(size, format, n_most));
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
    const char *first = put_digits(digits + sizeof digits, size);
    const size_t n = (size_t)(digits + sizeof digits - first);

    if (value < 0)
        *out++ = '-';
    memcpy(out, first, n);
    out[n] = '\0';
    return (int32_t)(out + n - text);
}
