/* base/text_format.c -- numbers into text, independent of the host's locale.
 *
 * A floating-point number is written with the fewest digits that read back to
 * the same bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/float_environment.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* significand * 10^exponent */
struct shortest {
    uint64_t significand;
    int32_t exponent;
};

static bool reads_back(struct shortest number, double value, bool is_float)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%" PRIu64 "e%d", number.significand,
        (int)number.exponent);
    return is_float ? strtof(text, NULL) == (float)value
                    : strtod(text, NULL) == value;
}

/* value > 0 rounded to n_digits digits. */
static struct shortest round_digits(double value, int32_t n_digits)
{
    struct shortest number = {.significand = 0};
    char text[40];
    const char *at = text;

    (void)snprintf(text, sizeof text, "%.*e", (int)n_digits - 1, value);
    for (; *at != 'e'; at++) /* the letter of the dot is the locale's */
        if (*at >= '0' && *at <= '9')
            number.significand =
                number.significand * 10 + (uint64_t)(*at - '0');
    number.exponent = (int32_t)strtol(at + 1, NULL, 10) - (n_digits - 1);
    return number;
}

/* The shortest number that reads back to value > 0. A decimal of FLT_DIG or
 * DBL_DIG digits is that of the number nearest to it: shorter ones are it with
 * zeros at the end, but for subnormal numbers. Numbers next to a power of two
 * are closer below than above: there the nearest of n_digits may fail where the
 * next one reads back. */
static struct shortest find_shortest(double value, bool is_float)
{
    const bool is_normal = value >= (is_float ? (double)FLT_MIN : DBL_MIN);
    const int32_t first = is_normal ? is_float ? FLT_DIG : DBL_DIG : 1;
    struct shortest number = {.significand = 0};
    fenv_t host;

    etx_float_environment_enter(&host);
    for (int32_t n_digits = first; n_digits <= DBL_DECIMAL_DIG; n_digits++) {
        number = round_digits(value, n_digits);
        if (reads_back(number, value, is_float))
            break;
        number.significand++;
        if (reads_back(number, value, is_float))
            break;
    }
    etx_float_environment_leave(&host);
    for (; number.significand % 10 == 0; number.exponent++)
        number.significand /= 10;
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

static int32_t format_number(char *text, double value, bool is_float)
{
    char *out = text;

    if (isnan(value)) {
        memcpy(text, "nan", 4);
        return 3;
    }
    if (signbit(value))
        *out++ = '-';
    if (isinf(value)) {
        memcpy(out, "inf", 4);
        out += 3;
    } else if (fpclassify(value) == FP_ZERO) {
        memcpy(out, "0", 2);
        out += 1;
    } else {
        out += write_number(out, find_shortest(fabs(value), is_float));
    }
    return (int32_t)(out - text);
}

int32_t etx_format_float(char *text, float value)
{
    return format_number(text, (double)value, true);
}

int32_t etx_format_double(char *text, double value)
{
    return format_number(text, value, false);
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
