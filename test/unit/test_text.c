/* test_text.c -- numbers to text and back.
 *
 * The C library in the C locale is the judge: same bits, same end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/random.h"
#include "base/text.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_ROUNDS 10
#define N_RANDOM 20000 /* per round */
#define LONGEST  1200

/* ------------------------------------------------------------- reading -- */

/* Both parsers against strtof and strtod, which the text must not make read
 * what our grammar has not: hexadecimal, inf, nan, spaces. */
static void compare_with_libc(const char *text)
{
    const char *end = text + strlen(text);
    char *judge_end;
    float value = -7.0f;
    double wide = -7.0;

    const float judge = strtof(text, &judge_end);
    const char *parsed = etx_parse_float(&value, text, end);
    if (parsed != (isinf(judge) ? NULL : judge_end))
        ck_abort_msg("float %s: another end", text);
    if (parsed != NULL && memcmp(&value, &judge, sizeof value) != 0)
        ck_abort_msg(
            "float %s is %a and not %a", text, (double)value, (double)judge);

    const double wide_judge = strtod(text, &judge_end);
    parsed = etx_parse_double(&wide, text, end);
    if (parsed != (isinf(wide_judge) ? NULL : judge_end))
        ck_abort_msg("double %s: another end", text);
    if (parsed != NULL && memcmp(&wide, &wide_judge, sizeof wide) != 0)
        ck_abort_msg("double %s is %a and not %a", text, wide, wide_judge);
}

static const char *const numbers[] = {"0", "-0", "+0", "-0.0",
    "0e99999999999999999999", "0.0e-5", "1", "1.", ".5", "-.5e1", "00001.5",
    "1e5", "1E+05", "1e-05", "1e", "1e+", "1e-x", "1x", "1.5,2.5", "1,5", "1 ",
    "1.2.3", "1-2", "0.1", "16777217", "16777219", "8388608.5", "8388609.5",
    "9007199254740993", "3.4028234e38", "3.4028235e38", "-3.4028236e38",
    "1.1754944e-38", "1.1754943e-38", "1.4e-45", "7e-46", "1e-46", "1e-400",
    "-1e-99999999999999999999999999", "1e-99999999999999999999999999",
    "1e99999999999999999999999999", "1.7976931348623157e308",
    "1.7976931348623159e308", "2.2250738585072011e-308",
    "2.2250738585072012e-308", "2.2250738585072014e-308", "4.9e-324",
    "2.4703282292062327e-324", "2.4703282292062328e-324",
    "18446744073709551615", "18446744073709551616", "9999999999999999999",
    "99999999999999999999", "00000000000000000000000000000000",
    "3.4028235677973366e38", /* half a unit above the largest float */
    "7.006492321624085e-46", /* half of the smallest float */
    "9007199254740992.99999999999999999999999999",
    "9007199254740993.00000000000000000000000001",
    "3.40282356779733661637539395458142568447e38",
    "3.40282356779733661637539395458142568448e38",
    "7.0064923216240853546186479164495806564013097093825788587e-46",
    "7.0064923216240853546186479164495806564013097093825788588e-46",
    "10000000000000000000000000000000000000000000000000000000e-50",
    "0.00000000000000000000000000000000000000000000000000000000",
    "0.000000000000000000000000000000000000000000000000000001234567890123",
    "123456789012345678901234567890.123456789012345678901234567890e-10",
    "1.00000005960464477539062499999999999999999999999999999999999999999",
    "1.00000005960464477539062500000000000000000000000000000000000000000",
    "1.00000005960464477539062500000000000000000000000000000000000000001"};

ETX_TEST(test_text_parse_known, .rows = ROWS(numbers))
{
    compare_with_libc(numbers[_i]);
}

static const char *const no_numbers[] = {"", "-", "+", ".", "-.", "+.e1", "e5",
    "-e5", "nan", "inf", "-inf", "infinity", " 1", "\t1", "--1", "+-1", ",5",
    "x", "\"1\"", "\xff", "-nan"};

ETX_TEST(test_text_parse_refused, .rows = ROWS(no_numbers))
{
    const char *text = no_numbers[_i];
    const char *end = text + strlen(text);
    float value = 3.0f;
    double wide = 3.0;
    int64_t whole = 3;

    ck_assert_ptr_null(etx_parse_float(&value, text, end));
    ck_assert_ptr_null(etx_parse_double(&wide, text, end));
    ck_assert_ptr_null(etx_parse_int64(&whole, text, end));
    ck_assert(value == 3.0f && wide == 3.0 && whole == 3);
}

ETX_TEST(test_text_parse_hexadecimal)
{
    const char *text = "0x1p3";
    float value = 3.0f;

    ck_assert_ptr_eq(etx_parse_float(&value, text, text + 5), text + 1);
    ck_assert_float_eq(value, 0.0f);
}

/* Nothing is read at or beyond the end: 1.5e7 cut after every character. */
ETX_TEST(test_text_parse_stops_at_end)
{
    const char *text = "12.5e7";
    static const float values[] = {0, 1, 12, 12, 12.5f, 12.5f, 12.5e7f};
    static const int ends[] = {0, 1, 2, 3, 4, 4, 6};

    for (int length = 1; length <= 6; length++) {
        scoped char *cut = malloc((size_t)length);
        float value = 0.0f;

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, text, (size_t)length);
        ck_assert_ptr_eq(
            etx_parse_float(&value, cut, cut + length), cut + ends[length]);
        ck_assert_float_eq(value, values[length]);
    }
}

/* Random decimals of every length, and the exact midpoint between random
 * neighbours with or without a last digit that tips it. */
static void make_number(char text[LONGEST], struct etx_random *random)
{
    const uint32_t kind = etx_random_u32(random) % 8;
    const int precision = (int)(etx_random_u32(random) % 40);
    const uint32_t bits = etx_random_u32(random) & 0xff7fffffu;
    const uint64_t wide_bits =
        ((uint64_t)etx_random_u32(random) << 32 | bits) & 0xffefffffffffffffu;
    float value;
    double wide;

    memcpy(&value, &bits, sizeof value);
    memcpy(&wide, &wide_bits, sizeof wide);
    switch (kind) {
    case 0:
        snprintf(text, LONGEST, "%.*g", precision % 12 + 1, (double)value);
        break;
    case 1:
        snprintf(text, LONGEST, "%.*e", precision, (double)value);
        break;
    case 2:
        snprintf(text, LONGEST, "%.*g", precision % 20 + 1, wide);
        break;
    case 3:
        snprintf(text, LONGEST, "%.*f", precision % 9, (double)value / 1e20);
        break;
    case 4:
        snprintf(text, LONGEST, "%llu.%ue%d",
            (unsigned long long)(wide_bits >> precision), bits,
            (int)(bits % 90) - 50);
        break;
    case 5:
        snprintf(text, LONGEST, "%.*e", precision + 10,
            ((double)value +
                (double)nextafterf(value, precision % 2 != 0 ? 9e9f : 0.0f)) /
                2.0);
        break;
    case 6:
        snprintf(text, LONGEST, "%.*e", precision * 20, wide);
        break;
    default:
        snprintf(text, LONGEST, "%d.%04d", (int)(bits % 2000) - 1000,
            precision * 99);
        break;
    }
}

ETX_TEST(test_text_parse_random, .rows = N_ROUNDS)
{
    struct etx_random random;
    char text[LONGEST];

    etx_random_init(&random, 1, 2, (uint32_t)_i);
    for (int i = 0; i < N_RANDOM; i++) {
        make_number(text, &random);
        compare_with_libc(text);
    }
}

/* More digits than any buffer: zeros, and a tie that its last digit tips. */
ETX_TEST(test_text_parse_very_long)
{
    static char text[20000];
    const size_t n_zeros = 15000;

    text[0] = '1';
    memset(text + 1, '0', n_zeros);
    snprintf(text + 1 + n_zeros, 32, "e-%zu", n_zeros - 3);
    compare_with_libc(text);

    memcpy(text, "0.", 2);
    memset(text + 2, '0', n_zeros);
    snprintf(text + 2 + n_zeros, 32, "123e%zu", n_zeros);
    compare_with_libc(text);

    const char *tie = "16777217.";
    const size_t n_tie = strlen(tie);
    memcpy(text, tie, n_tie);
    memset(text + n_tie, '0', n_zeros);
    text[n_tie + n_zeros] = '\0';
    compare_with_libc(text);
    memcpy(text + n_tie + n_zeros, "1", 2);
    compare_with_libc(text);
}

static const struct {
    const char *text;
    int length; /* read; 0 = refused */
    int64_t value;
} integers[] = {
    {"0", 1, 0},
    {"-0", 2, 0},
    {"+17", 3, 17},
    {"007", 3, 7},
    {"12,13", 2, 12},
    {"1.5", 1, 1},
    {"9223372036854775807", 19, INT64_MAX},
    {"9223372036854775808", 0, 0},
    {"-9223372036854775808", 20, INT64_MIN},
    {"-9223372036854775809", 0, 0},
    {"18446744073709551616", 0, 0},
    {"99999999999999999999999999", 0, 0},
};

ETX_TEST(test_text_parse_integers, .rows = ROWS(integers))
{
    const char *text = integers[_i].text;
    int64_t value = 5;
    const char *end = etx_parse_int64(&value, text, text + strlen(text));

    if (integers[_i].length == 0) {
        ck_assert_ptr_null(end);
        ck_assert_int_eq(value, 5);
    } else {
        ck_assert_ptr_eq(end, text + integers[_i].length);
        ck_assert_int_eq(value, integers[_i].value);
    }
}

/* ------------------------------------------------------------- writing -- */

static const struct {
    double value;
    const char *as_double;
    const char *as_float;
} written[] = {
    {0.0, "0", "0"},
    {-0.0, "-0", "-0"},
    {1.0, "1", "1"},
    {-1.5, "-1.5", "-1.5"},
    {0.1, "0.1", "0.1"},
    {0.001, "0.001", "0.001"},
    {0.0001, "0.0001", "0.0001"},
    {0.00001, "1e-5", "1e-5"},
    {1e16, "10000000000000000", "10000000000000000"},
    {1e17, "1e17", "1e17"},
    {123456789.0, "123456789", "123456790"},
    {1.0 / 3.0, "0.3333333333333333", "0.33333334"},
    {1e23, "1e23", "1e23"},
    {5e-324, "5e-324", "0"},
    /* closer to the number below than to that above */
    {0x1p-1017, "7.120236347223045e-307", "0"},
    {0x1p-96, "1.262177448353619e-29", "1.2621775e-29"},
    {0x1p87, "1.5474250491067253e26", "1.5474251e26"},
    {1.7976931348623157e308, "1.7976931348623157e308", "inf"},
    {9007199254740993.0, "9007199254740992", "9007199000000000"},
    {16777216.0, "16777216", "16777216"},
    {(double)NAN, "nan", "nan"},
    {(double)-INFINITY, "-inf", "-inf"},
    {(double)INFINITY, "inf", "inf"},
};

ETX_TEST(test_text_format_known, .rows = ROWS(written))
{
    char text[32];

    ck_assert_int_eq(
        etx_format_double(text, written[_i].value), (int)strlen(text));
    ck_assert_str_eq(text, written[_i].as_double);
    ck_assert_int_eq(
        etx_format_float(text, (float)written[_i].value), (int)strlen(text));
    ck_assert_str_eq(text, written[_i].as_float);
}

static int n_significant(const char *text)
{
    char digits[40];
    int n = 0;

    for (; *text != '\0' && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
            digits[n++] = *text;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static int fewest_digits(float value)
{
    char text[64];

    for (int n = 1; n < 9; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, (double)value);
        if (strtof(text, NULL) == value)
            return n;
    }
    return 9;
}

ETX_TEST(test_text_format_random, .rows = N_ROUNDS)
{
    struct etx_random random;

    etx_random_init(&random, 4, 5, (uint32_t)_i);
    for (int i = 0; i < N_RANDOM / 4; i++) {
        const uint32_t bits = etx_random_u32(&random);
        const uint64_t wide_bits =
            (uint64_t)etx_random_u32(&random) << 32 | bits;
        char text[32];
        float value;
        double wide;

        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            ck_assert_int_eq(etx_format_float(text, value), (int)strlen(text));
            const float back = strtof(text, NULL);
            ck_assert_msg(memcmp(&back, &value, sizeof back) == 0,
                "%s is not %a", text, (double)value);
            ck_assert_int_le(n_significant(text), fewest_digits(value));
        }
        memcpy(&wide, &wide_bits, sizeof wide);
        if (isfinite(wide)) {
            const int32_t length = etx_format_double(text, wide);
            ck_assert_int_lt(length, 32);
            const double back = strtod(text, NULL);
            ck_assert_msg(memcmp(&back, &wide, sizeof back) == 0,
                "%s is not %a", text, wide);
        }
    }
}

ETX_TEST(test_text_format_integers)
{
    static const int64_t values[] = {
        0, 7, -7, 10, 1234567890123, INT64_MAX, INT64_MIN};

    for (size_t i = 0; i < ROWS(values); i++) {
        char text[32], judge[32];

        snprintf(judge, sizeof judge, "%lld", (long long)values[i]);
        ck_assert_int_eq(etx_format_int64(text, values[i]), (int)strlen(judge));
        ck_assert_str_eq(text, judge);
    }
}

/* ---------------------------------------------------------- the host's -- */

static void check_half(void)
{
    char text[32];
    float value = 0.0f;
    const char *number = "1234.5";

    ck_assert_ptr_eq(etx_parse_float(&value, number, number + 6), number + 6);
    ck_assert(value == 1234.5f);
    etx_format_float(text, 1234.5f);
    ck_assert_str_eq(text, "1234.5");
}

static void check_half_of(__attribute__((unused)) void *unused)
{
    check_half();
}

ETX_TEST(test_text_locale)
{
    etx_test_in_comma_locale("test_text_locale", check_half_of, NULL);
}

ETX_TEST(test_text_rounding_mode)
{
    static const int modes[] = {
        FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    static const char *const texts[] = {
        "0.1", "-0.1", "1e-40", "123.456789012345678901234567", "1e23"};
    volatile float nearest[5];

    for (size_t k = 0; k < 5; k++)
        nearest[k] = strtof(texts[k], NULL);
    for (size_t m = 0; m < 4; m++) {
        fesetround(modes[m]);
        for (size_t k = 0; k < 5; k++) {
            float value = 0.0f;
            char text[32];

            ck_assert_ptr_nonnull(
                etx_parse_float(&value, texts[k], texts[k] + strlen(texts[k])));
            ck_assert(value == nearest[k]);
            etx_format_float(text, value);
            ck_assert_ptr_nonnull(
                etx_parse_float(&value, text, text + strlen(text)));
            ck_assert(value == nearest[k]);
        }
        check_half();
    }
}
