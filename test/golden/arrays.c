/* test/golden/arrays.c -- matrices of NumPy files and of plain CSV, as float64.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arrays.h"

#include "npz.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double read_value(const char *data, char kind, size_t width)
{
    float f32 = 0.0f;
    double f64 = 0.0;
    int32_t i32 = 0;
    int64_t i64 = 0;

    if (kind == 'f' && width == 4) {
        memcpy(&f32, data, sizeof f32);
        return (double)f32;
    }
    if (kind == 'f' && width == 8) {
        memcpy(&f64, data, sizeof f64);
        return f64;
    }
    if (kind == 'i' && width == 4) {
        memcpy(&i32, data, sizeof i32);
        return (double)i32;
    }
    ck_assert_msg(kind == 'i' && width == 8, "npy type %c%d", kind, (int)width);
    memcpy(&i64, data, sizeof i64);
    return (double)i64;
}

struct golden_array golden_npz(const char *path, const char *name)
{
    struct etx_npz_array npz;
    struct golden_array array = {.n_rows = 1, .n_cols = 1};
    size_t width = 0;

    etx_npz_read(&npz, path, name, NULL);
    ck_assert_int_le(npz.n_dimensions, 2);
    for (int32_t d = 0; d < npz.n_dimensions; d++) {
        array.n_rows = array.n_cols;
        array.n_cols = npz.shape[d];
    }
    width = (size_t)(npz.type[2] - '0');
    array.value = calloc((size_t)npz.n_values + 1, sizeof *array.value);
    ck_assert_ptr_nonnull(array.value);
    for (int64_t v = 0; v < npz.n_values; v++)
        array.value[v] = read_value(
            (const char *)npz.values + (size_t)v * width, npz.type[1], width);
    etx_npz_release(&npz);
    return array;
}

/* The file and a NUL after it. */
static char *read_text(const char *path)
{
    FILE *stream = fopen(path, "rb");
    char *text = NULL;
    long size = 0;

    ck_assert_msg(stream != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(stream, 0, SEEK_END), 0);
    size = ftell(stream);
    ck_assert(size >= 0);
    rewind(stream);
    text = calloc((size_t)size + 1, 1);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_eq(fread(text, 1, (size_t)size, stream), (size_t)size);
    (void)fclose(stream);
    return text;
}

struct golden_array golden_csv(const char *path)
{
    char *text = read_text(path);
    struct golden_array array = {.n_rows = 0};
    char *next = text;
    int64_t n = 0;
    int64_t capacity = 0;

    while (*next != '\0') {
        if (n == capacity) {
            capacity = 2 * capacity + 1024;
            array.value =
                realloc(array.value, (size_t)capacity * sizeof *array.value);
            ck_assert(array.value != NULL);
        }
        array.value[n++] = strtod(next, &next);
        ck_assert_msg(
            *next == ',' || *next == '\n', "%s: value %d", path, (int)n);
        array.n_rows += *next == '\n';
        next++;
    }
    ck_assert_int_gt(array.n_rows, 0);
    array.n_cols = n / array.n_rows;
    ck_assert_int_eq(array.n_rows * array.n_cols, n);
    free(text);
    return array;
}

void golden_free(struct golden_array *array)
{
    free(array->value);
    array->value = NULL;
}

float *golden_floats(const struct golden_array *array)
{
    const int64_t n = array->n_rows * array->n_cols;
    float *out = calloc((size_t)n + 1, sizeof *out);

    ck_assert(out != NULL);
    for (int64_t v = 0; v < n; v++)
        out[v] = (float)array->value[v];
    return out;
}

int32_t *golden_ints(const struct golden_array *array)
{
    const int64_t n = array->n_rows * array->n_cols;
    int32_t *out = calloc((size_t)n + 1, sizeof *out);

    ck_assert(out != NULL);
    for (int64_t v = 0; v < n; v++)
        out[v] = (int32_t)array->value[v];
    return out;
}
