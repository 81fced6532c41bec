/* test/golden/npz.c -- arrays of NumPy files and of plain CSV.
 *
 * Zip: APPNOTE 6.3; npy: the format's description in numpy.lib.format.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "npz.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_SIZE     22 /* zip: end of central directory */
#define CENTRAL_SIZE 46 /* zip: one entry of it, without names */
#define LOCAL_SIZE   30 /* zip: header of a member, without names */

struct bytes {
    unsigned char *data;
    size_t size;
};

static struct bytes read_file(const char *path)
{
    struct bytes file = {.data = NULL};
    FILE *stream = fopen(path, "rb");
    long size = 0;

    ck_assert_msg(stream != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(stream, 0, SEEK_END), 0);
    size = ftell(stream);
    ck_assert(size >= 0);
    rewind(stream);
    file.size = (size_t)size;
    file.data = malloc(file.size + 1);
    ck_assert(file.data != NULL);
    ck_assert_uint_eq(fread(file.data, 1, file.size, stream), file.size);
    file.data[file.size] = '\0';
    (void)fclose(stream);
    return file;
}

static size_t little(const unsigned char *data, size_t n_bytes)
{
    size_t value = 0;

    for (size_t b = n_bytes; b > 0; b--)
        value = value << 8 | data[b - 1];
    return value;
}

static struct bytes inflate_member(
    unsigned char *data, size_t packed, size_t size)
{
    struct bytes out = {.data = malloc(size + 1), .size = size};
    z_stream stream;

    memset(&stream, 0, sizeof stream);
    ck_assert(out.data != NULL);
    ck_assert_int_eq(inflateInit2(&stream, -MAX_WBITS), Z_OK);
    stream.next_in = data;
    stream.avail_in = (uInt)packed;
    stream.next_out = out.data;
    stream.avail_out = (uInt)size;
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.total_out, size);
    ck_assert_int_eq(inflateEnd(&stream), Z_OK);
    return out;
}

/* The bytes of one member; entry is its place in the central directory. */
static struct bytes unpack(const struct bytes *zip, size_t entry)
{
    const unsigned char *central = zip->data + entry;
    const size_t method = little(central + 10, 2);
    const size_t packed = little(central + 20, 4);
    const size_t size = little(central + 24, 4);
    const size_t local = little(central + 42, 4);
    const size_t begin = local + LOCAL_SIZE +
                         little(zip->data + local + 26, 2) +
                         little(zip->data + local + 28, 2);
    struct bytes out = {.size = size};

    ck_assert(begin + packed <= zip->size);
    if (method == 8)
        return inflate_member(zip->data + begin, packed, size);
    ck_assert_uint_eq(method, 0);
    out.data = malloc(size + 1);
    ck_assert(out.data != NULL);
    memcpy(out.data, zip->data + begin, size);
    return out;
}

static struct bytes find_member(const struct bytes *zip, const char *name)
{
    const unsigned char *end = zip->data + zip->size - END_SIZE;
    const size_t n_entries = little(end + 10, 2);
    const size_t length = strlen(name);
    size_t entry = little(end + 16, 4);

    ck_assert(zip->size >= END_SIZE && memcmp(end, "PK\5\6", 4) == 0);
    for (size_t e = 0; e < n_entries; e++) {
        const unsigned char *central = zip->data + entry;
        const size_t n = little(central + 28, 2);

        if (n == length + 4 &&
            memcmp(central + CENTRAL_SIZE, name, length) == 0)
            return unpack(zip, entry);
        entry += CENTRAL_SIZE + n + little(central + 30, 2) +
                 little(central + 32, 2);
    }
    ck_abort_msg("no array %s", name);
    return (struct bytes){.data = NULL};
}

/* 'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), */
static struct golden_array read_header(
    char *kind, size_t *width, int32_t *is_fortran, const char *header)
{
    struct golden_array array = {.n_rows = 1, .n_cols = 1};
    const char *descr = strstr(header, "'descr': '<");
    const char *shape = strstr(header, "'shape': (");
    char *next = NULL;

    ck_assert_msg(descr != NULL && shape != NULL, "npy header %s", header);
    *is_fortran = strstr(header, "'fortran_order': True") != NULL;
    *kind = descr[11];
    *width = (size_t)(descr[12] - '0');
    shape += strlen("'shape': (");
    for (int32_t d = 0; *shape != ')'; d++) {
        ck_assert_int_lt(d, 2);
        array.n_rows = array.n_cols;
        array.n_cols = strtoll(shape, &next, 10);
        ck_assert(next != shape);
        shape = next + strspn(next, ", ");
    }
    return array;
}

static double read_value(const unsigned char *data, char kind, size_t width)
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
    ck_assert_msg(kind == 'i' && width == 8, "npy type %c%d", kind,
        (int)width);
    memcpy(&i64, data, sizeof i64);
    return (double)i64;
}

static struct golden_array read_npy(const struct bytes *npy)
{
    const size_t version = npy->data[6];
    const size_t n_length = version == 1 ? 2 : 4;
    const size_t n_header = little(npy->data + 8, n_length);
    const size_t begin = 8 + n_length + n_header;
    struct golden_array array;
    char kind = ' ';
    size_t width = 0;
    int32_t is_fortran = 0;
    size_t n_rows = 0;
    size_t n = 0;

    ck_assert(npy->size > 10 && memcmp(npy->data, "\x93NUMPY", 6) == 0);
    ck_assert_uint_le(begin, npy->size);
    npy->data[begin - 1] = '\0'; /* a newline before */
    array = read_header(
        &kind, &width, &is_fortran, (const char *)npy->data + 8 + n_length);
    n_rows = (size_t)array.n_rows;
    n = n_rows * (size_t)array.n_cols;
    ck_assert_uint_eq(npy->size, begin + n * width);
    array.value = calloc(n + 1, sizeof *array.value);
    ck_assert(array.value != NULL);
    for (size_t v = 0; v < n; v++) {
        const size_t place =
            is_fortran ? v % n_rows * (n / n_rows) + v / n_rows : v;

        array.value[place] =
            read_value(npy->data + begin + v * width, kind, width);
    }
    return array;
}

struct golden_array golden_npz(const char *path, const char *name)
{
    struct bytes zip = read_file(path);
    struct bytes npy = find_member(&zip, name);
    const struct golden_array array = read_npy(&npy);

    free(npy.data);
    free(zip.data);
    return array;
}

struct golden_array golden_csv(const char *path)
{
    struct bytes file = read_file(path);
    struct golden_array array = {.n_rows = 0};
    char *next = (char *)file.data;
    int64_t n = 0;
    int64_t capacity = 0;

    while (*next != '\0') {
        if (n == capacity) {
            capacity = 2 * capacity + 1024;
            array.value = realloc(
                array.value, (size_t)capacity * sizeof *array.value);
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
    free(file.data);
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
