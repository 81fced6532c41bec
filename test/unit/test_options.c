/* test_options.c -- the struct_size rule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/options.h"

/* A struct that began with the first two fields and has grown by one. */
struct grown {
    uint32_t struct_size;
    int32_t old;
    int64_t newer;
};

#define FIRST_SIZE 8

static const struct grown defaults = {
    .struct_size = sizeof(struct grown), .old = 3, .newer = 7};

static etx_status init(void *options, size_t size)
{
    return etx_options_init(
        options, size, &defaults, sizeof defaults, FIRST_SIZE, "grown options");
}

static etx_status copy(struct grown *known, const void *options, size_t size)
{
    *known = defaults;
    return etx_options_copy(
        known, sizeof *known, options, size, FIRST_SIZE, "grown options");
}

static const size_t refused_sizes[] = {0, 1, 4, 7, 4097, SIZE_MAX};

ETX_TEST(test_options_sizes_refused, .rows = ROWS(refused_sizes))
{
    struct grown known;
    struct grown options = {.old = 5};

    ck_assert_refused(
        init(&options, refused_sizes[_i]), "grown options: struct_size");
    ck_assert_int_eq(options.old, 5);
    ck_assert_refused(copy(&known, &options, refused_sizes[_i]),
        "grown options: struct_size");
    ck_assert_int_eq(known.old, 3);
}

ETX_TEST(test_options_null)
{
    ck_assert_refused(init(NULL, sizeof defaults), "options is NULL");
}

ETX_TEST(test_options_same)
{
    struct grown known, options;

    memset(&options, 0xff, sizeof options);
    ck_assert_ok(init(&options, sizeof options));
    ck_assert_mem_eq(&options, &defaults, sizeof options);
    options.old = 30;
    options.newer = 70;
    ck_assert_ok(copy(&known, &options, sizeof options));
    ck_assert_mem_eq(&known, &options, sizeof known);
}

/* A caller that was compiled before the struct grew: nothing beyond its
 * struct is touched, what it lacks has its default. */
ETX_TEST(test_options_older_caller)
{
    struct grown known;
    unsigned char bytes[16];
    int32_t old = 30;
    uint32_t size = 0;

    memset(bytes, 0xee, sizeof bytes);
    ck_assert_ok(init(bytes, FIRST_SIZE));
    memcpy(&size, bytes, sizeof size);
    ck_assert_uint_eq(size, FIRST_SIZE);
    for (size_t k = FIRST_SIZE; k < sizeof bytes; k++)
        ck_assert_uint_eq(bytes[k], 0xee);
    memcpy(bytes + 4, &old, sizeof old);
    ck_assert_ok(copy(&known, bytes, FIRST_SIZE));
    ck_assert_int_eq(known.old, 30);
    ck_assert_int_eq(known.newer, 7);
    ck_assert_uint_eq(known.struct_size, sizeof known);
}

/* A caller that knows more fields than we do. */
ETX_TEST(test_options_newer_caller)
{
    struct grown known;
    unsigned char bytes[48];

    memset(bytes, 0xee, sizeof bytes);
    ck_assert_ok(init(bytes, sizeof bytes));
    for (size_t k = sizeof known; k < sizeof bytes; k++)
        ck_assert_uint_eq(bytes[k], 0);
    ck_assert_ok(copy(&known, bytes, sizeof bytes));
    ck_assert_int_eq(known.newer, 7);
    for (size_t k = sizeof known; k < sizeof bytes; k++) {
        bytes[k] = 1;
        ck_assert_refused(copy(&known, bytes, sizeof bytes), "newer");
        ck_assert_int_eq(known.newer, 7);
        bytes[k] = 0;
    }
}
