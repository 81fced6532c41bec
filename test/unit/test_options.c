/* test_options.c -- the struct_size rule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "stage/options.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A struct that began with the first two fields and has grown by one. */
struct grown {
    uint32_t struct_size;
    int32_t old;
    int64_t newer;
};

static const struct etx_field fields[] = {
    ETX_FIELD(struct grown, old, 3, 1, 100),
    ETX_FIELD(struct grown, newer, 7, 0, 100),
};

#define FIRST_SIZE 8

static const struct etx_options_type type = {
    "grown options", sizeof(struct grown), FIRST_SIZE, ROWS(fields), fields};

static const struct grown defaults = {
    .struct_size = sizeof(struct grown), .old = 3, .newer = 7};

static etx_status init(void *options, size_t size)
{
    return etx_options_write(options, size, &defaults, &type);
}

static etx_status copy(struct grown *out, const void *options, size_t size)
{
    *out = defaults;
    return etx_options_copy(
        out, sizeof *out, options, size, FIRST_SIZE, "grown options");
}

static const size_t refused_sizes[] = {0, 1, 4, 7, 4097, SIZE_MAX};

ETX_TEST(test_options_sizes_refused, .rows = ROWS(refused_sizes))
{
    struct grown out;
    struct grown options = {.old = 5};

    ck_assert_refused(
        init(&options, refused_sizes[_i]), "grown options: struct_size");
    ck_assert_int_eq(options.old, 5);
    ck_assert_refused(
        copy(&out, &options, refused_sizes[_i]), "grown options: struct_size");
    ck_assert_int_eq(out.old, 3);
}

ETX_TEST(test_options_null)
{
    ck_assert_refused(init(NULL, sizeof defaults), "options is NULL");
}

ETX_TEST(test_options_same)
{
    struct grown out, options;

    memset(&options, 0xff, sizeof options);
    ck_assert_ok(init(&options, sizeof options));
    ck_assert_mem_eq(&options, &defaults, sizeof options);
    options.old = 30;
    options.newer = 70;
    ck_assert_ok(copy(&out, &options, sizeof options));
    ck_assert_mem_eq(&out, &options, sizeof out);
}

/* A caller that was compiled before the struct grew: nothing beyond its
 * struct is touched, what it lacks has its default. */
ETX_TEST(test_options_older_caller)
{
    struct grown out;
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
    ck_assert_ok(copy(&out, bytes, FIRST_SIZE));
    ck_assert_int_eq(out.old, 30);
    ck_assert_int_eq(out.newer, 7);
    ck_assert_uint_eq(out.struct_size, sizeof out);
}

/* A caller that knows more fields than we do. */
ETX_TEST(test_options_newer_caller)
{
    struct grown out;
    unsigned char bytes[48];

    memset(bytes, 0xee, sizeof bytes);
    ck_assert_ok(init(bytes, sizeof bytes));
    for (size_t k = sizeof out; k < sizeof bytes; k++)
        ck_assert_uint_eq(bytes[k], 0);
    ck_assert_ok(copy(&out, bytes, sizeof bytes));
    ck_assert_int_eq(out.newer, 7);
    for (size_t k = sizeof out; k < sizeof bytes; k++) {
        bytes[k] = 1;
        ck_assert_refused(copy(&out, bytes, sizeof bytes), "newer");
        ck_assert_int_eq(out.newer, 7);
        bytes[k] = 0;
    }
}

/* --------------------------------------------------------------- tables -- */

/* Every struct of the interface. */
#define ROW(name, text, last) &etx_##name##_options_type,
static const struct etx_options_type *const types[] = {ETX_OPTIONS_TYPES(ROW)};

static const size_t field_sizes[] = {[ETX_FIELD_INT32] = sizeof(int32_t),
    [ETX_FIELD_INT64] = sizeof(int64_t),
    [ETX_FIELD_FLOAT] = sizeof(float),
    [ETX_FIELD_POINTER] = sizeof(void *)};

/* A table has every field of its struct, in order: without gaps, since the
 * structs have no padding, and to the end. */
ETX_TEST(test_options_tables, .rows = ROWS(types))
{
    size_t end = sizeof(uint32_t);

    for (int32_t k = 0; k < types[_i]->n_fields; k++) {
        const struct etx_field *field = &types[_i]->field[k];

        ck_assert_msg(field->offset == end,
            "%s: a field before %s is not in the table", types[_i]->name,
            field->name);
        end += field_sizes[field->kind];
    }
    ck_assert_msg(end == types[_i]->size,
        "%s: the last field of the struct is not in the table, or padding",
        types[_i]->name);
}

/* Bounds of the fields, in the order of ETX_OPTIONS_TYPES: a change of one is a
 * change of the interface. */
static const char *const bounds[] = {
    "device 0..2147483647, device_index 0..2147483647, n_threads 1..256, "
    "cpu_level 0..4, cancel_interval 0..2147483647, memory_limit 0..inf, "
    "precision 0..5, keep_graphs 0..2",
    "radius positive..finite, max_neighbours 0..2147483647, orientation 0..2, "
    "max_edges 0..2147483647",
    "method 0..3, cut 0..1, min_hits 1..2147483647, sure_cut 0..1, "
    "strong_cut 0..1, support_hits 1..2147483647, max_curvature_change 0..inf, "
    "max_polar_change 0..1",
    "max_distance 0..inf, max_join 0..inf, max_random 0..inf, "
    "min_layers 0..20, min_pt 0.01..inf, "
    "passes 1..8",
    "min_layers 3..20, min_pt 0.01..inf, max_distance 0..inf, "
    "max_random 0..inf, min_event_hits 0..2147483647",
    "units 0..1, use_triplets 0..1, min_pt 0..inf, tail 0..0.499, "
    "margin 0..1000",
    "field -100..100, material 0..10, mass 0..1000, "
    "resolution_scale 0.001..1000, max_hit_chi2 0..finite, n_r 0..16384, "
    "n_z 0..16384, max_r 0..finite, max_z 0..finite, energy_loss 0..10, "
    "map_x -1000000..1000000, map_y -1000000..1000000, "
    "map_z -1000000..1000000",
    "max_shared 0..2147483647, min_hits 1..2147483647",
    "matching 0..2, matching_fraction 0.5..below 1, min_pt 0..finite, "
    "max_eta positive..inf, min_particle_hits 1..2147483647, "
    "min_track_hits 1..2147483647, charged_only 0..1",
};

static void append_bound(char *text, double bound)
{
    char number[32];

    (void)snprintf(number, sizeof number, "%.6g", bound);
    if (bound == floor(bound))
        (void)snprintf(number, sizeof number, "%.0f", bound);
    strcat(text, bound == (double)FLT_TRUE_MIN             ? "positive"
                 : bound == (double)nextafterf(1.0f, 0.0f) ? "below 1"
                 : bound == (double)FLT_MAX                ? "finite"
                 : bound >= (double)INT64_MAX              ? "inf"
                                                           : number);
}

ETX_TEST(test_options_bounds, .rows = ROWS(types))
{
    char text[1000] = "";

    for (int32_t k = 0; k < types[_i]->n_fields; k++) {
        const struct etx_field *field = &types[_i]->field[k];

        if (field->kind == ETX_FIELD_POINTER)
            continue;
        strcat(strcat(text, text[0] == '\0' ? "" : ", "), field->name);
        append_bound(strcat(text, " "), field->low);
        append_bound(strcat(text, ".."), field->high);
    }
    ck_assert_str_eq(text, bounds[_i]);
}

/* Defaults are within their bounds, and a number beyond a bound is refused. */
ETX_TEST(test_options_checked, .rows = ROWS(types))
{
    const struct etx_options_type *one = types[_i];
    char values[256];

    ck_assert_uint_le(one->size, sizeof values);
    for (int32_t k = 0; k < one->n_fields; k++) {
        const struct etx_field *field = &one->field[k];
        const int32_t below = (int32_t)field->low - 1;
        const float nan = NAN;

        etx_options_preset(values, one);
        ck_assert_ok(etx_options_check(one->name, values, one));
        if (field->kind == ETX_FIELD_INT32)
            memcpy(values + field->offset, &below, sizeof below);
        else if (field->kind == ETX_FIELD_FLOAT)
            memcpy(values + field->offset, &nan, sizeof nan);
        else
            continue;
        ck_assert_refused(
            etx_options_check(one->name, values, one), field->name);
    }
}

static const struct {
    int32_t kind;
    double low, high, value;
    const char *error;
} errors[] = {
    {ETX_FIELD_INT32, 0, 20, 21, "owner: x 21 is not in 0..20"},
    {ETX_FIELD_INT32, 0, 20, -1, "owner: x -1 is not in 0..20"},
    {ETX_FIELD_INT32, 1, INT32_MAX, 0, "owner: x 0 is below 1"},
    {ETX_FIELD_INT32, 0, 0, 7, "owner: x is 7 and must be 0"},
    {ETX_FIELD_FLOAT, 0, 1, (double)NAN, "owner: x is nan"},
    {ETX_FIELD_FLOAT, 0, 1, 1.5, "owner: x 1.5 is not in 0 to 1"},
    {ETX_FIELD_FLOAT, 0, 1, -0.5, "owner: x -0.5 is not in 0 to 1"},
    {ETX_FIELD_FLOAT, 0, HUGE_VAL, -HUGE_VAL,
        "owner: x -inf is not at least 0"},
    {ETX_FIELD_FLOAT, FLT_TRUE_MIN, HUGE_VAL, 0, "owner: x 0 is not positive"},
    {ETX_FIELD_FLOAT, FLT_TRUE_MIN, FLT_MAX, HUGE_VAL,
        "owner: x inf is not finite"},
};

ETX_TEST(test_options_errors, .rows = ROWS(errors))
{
    const struct etx_field field = {"x", sizeof(uint32_t), errors[_i].kind, 0.0,
        errors[_i].low, errors[_i].high, NULL};
    const struct etx_options_type one = {"one", 8, 8, 1, &field};
    const float real = (float)errors[_i].value;
    const int32_t whole =
        field.kind == ETX_FIELD_INT32 ? (int32_t)errors[_i].value : 0;
    char options[8] = {8};

    memcpy(options + field.offset,
        field.kind == ETX_FIELD_INT32 ? (const void *)&whole : &real, 4);
    ck_assert_refused(
        etx_options_check("owner", options, &one), errors[_i].error);
}
