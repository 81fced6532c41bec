/* test_status.c -- status names, version and the last error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */
#include "support.h"

#include "base/status.h"

#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

static const struct {
    etx_status status;
    const char *name;
} names[] = {
    {ETX_OK, "ETX_OK"},
    {ETX_ERR_ARGUMENT, "ETX_ERR_ARGUMENT"},
    {ETX_ERR_MEMORY, "ETX_ERR_MEMORY"},
    {ETX_ERR_IO, "ETX_ERR_IO"},
    {ETX_ERR_FORMAT, "ETX_ERR_FORMAT"},
    {ETX_ERR_UNSUPPORTED, "ETX_ERR_UNSUPPORTED"},
    {ETX_ERR_DEVICE, "ETX_ERR_DEVICE"},
    {ETX_ERR_LIMIT, "ETX_ERR_LIMIT"},
    {ETX_ERR_CANCELLED, "ETX_ERR_CANCELLED"},
    {ETX_ERR_RANK, "ETX_ERR_RANK"},
    {999, "unknown"},
    {1, "unknown"},
    {-10, "unknown"},
    {INT32_MIN, "unknown"},
    {INT32_MAX, "unknown"},
};

ETX_TEST(test_status_names, .rows = ROWS(names))
{
    ck_assert_str_eq(etx_status_name(names[_i].status), names[_i].name);
}

ETX_TEST(test_status_version)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", ETX_VERSION_MAJOR,
        ETX_VERSION_MINOR, ETX_VERSION_PATCH);
    ck_assert_str_eq(etx_version(), text);
}

ETX_TEST(test_status_no_error_yet)
{
    ck_assert_str_eq(etx_last_error(), "");
}

/* Every conversion that messages use, against snprintf. */
ETX_TEST(test_status_format)
{
    const size_t size = SIZE_MAX;
    const int64_t min = INT64_MIN;
    char text[256];

    snprintf(text, sizeof text,
        "%% %s|%.*s|%.3s|%c|%d|%5d|%02x|%zu|%" PRId64 "|%lld|%lu|%u|%ld",
        "name", 2, "abcdef", "uvwxyz", 'x', -5, 42, 10u, size, min, -3LL, 7UL,
        8u, -9L);
    ck_assert_status(
        etx_fail(ETX_ERR_IO,
            "%% %s|%.*s|%.3s|%c|%d|%5d|%02x|%zu|%" PRId64 "|%lld|%lu|%u|%ld",
            "name", 2, "abcdef", "uvwxyz", 'x', -5, 42, 10u, size, min, -3LL,
            7UL, 8u, -9L),
        ETX_ERR_IO);
    ck_assert_str_eq(etx_last_error(), text);
}

ETX_TEST(test_status_format_numbers)
{
    (void)etx_fail(ETX_ERR_ARGUMENT, "%.9g %.9g %g %.9g %.9g %.9g",
        (double)0.1f, 0.5, -1e300, (double)NAN, (double)INFINITY, 1e-300);
    ck_assert_str_eq(etx_last_error(), "0.1 0.5 -1e300 nan inf 1e-300");
}

static void check_format(void *unused)
{
    (void)unused;
    (void)etx_fail(ETX_ERR_ARGUMENT, "%.9g", 0.5);
    ck_assert_str_eq(etx_last_error(), "0.5");
}

ETX_TEST(test_status_format_in_locale)
{
    etx_test_in_comma_locale(
        "test_status_format_in_locale", check_format, NULL);
}

ETX_TEST(test_status_long_message)
{
    char long_text[2000];

    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    (void)etx_fail(ETX_ERR_FORMAT, "%s%s", long_text, long_text);
    ck_assert_int_eq((int)strlen(etx_last_error()), 511);
    etx_set_last_error(long_text);
    ck_assert_int_eq((int)strlen(etx_last_error()), 511);
    etx_set_last_error("short");
    ck_assert_str_eq(etx_last_error(), "short");

    /* A message may quote the one before. */
    (void)etx_fail(ETX_ERR_FORMAT, "again: %s", etx_last_error());
    ck_assert_str_eq(etx_last_error(), "again: short");
}

static void *fail_elsewhere(void *argument)
{
    (void)argument;
    ck_assert_str_eq(etx_last_error(), "");
    (void)etx_fail(ETX_ERR_IO, "there");
    return NULL;
}

ETX_TEST(test_status_per_thread)
{
    pthread_t thread;

    (void)etx_fail(ETX_ERR_IO, "here");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_str_eq(etx_last_error(), "here");
}

ETX_TEST(test_status_under_traps)
{
    static const double values[] = {
        1e300, 1e-310, 3e38, 1e-40, 0.1, 5e-324, (double)NAN};

    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    for (size_t i = 0; i < ROWS(values); i++)
        (void)etx_fail(ETX_ERR_ARGUMENT, "%.9g", values[i]);
    fedisableexcept(FE_ALL_EXCEPT);
    ck_assert_str_eq(etx_last_error(), "nan");
}
