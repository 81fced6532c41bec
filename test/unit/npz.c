/* npz.c -- read arrays of numpy's .npz files, for reference data.
 *
 * An .npz is a zip file of .npy files, stored or deflated. Sizes and offsets
 * come from the directory at its end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "npz.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_SIZE    22 /* of the last record, without a comment */
#define ENTRY_SIZE  46 /* of an entry of the directory */
#define HEADER_SIZE 30 /* in front of a member */
#define DEFLATED    8

static uint32_t little(const unsigned char *bytes, int n)
{
    uint32_t value = 0;

    for (int k = n - 1; k >= 0; k--)
        value = value << 8 | bytes[k];
    return value;
}

static unsigned char *read_file(size_t *size, const char *path)
{
    FILE *file = fopen(path, "rb");

    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);

    unsigned char *bytes = malloc(*size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static unsigned char *inflate_member(
    const unsigned char *packed, uint32_t n_packed, uint32_t n_bytes)
{
    unsigned char *bytes = malloc(n_bytes);
    unsigned char *input = malloc(n_packed);
    z_stream stream = {.avail_in = n_packed, .avail_out = n_bytes};

    ck_assert_ptr_nonnull(bytes);
    ck_assert_ptr_nonnull(input);
    memcpy(input, packed, n_packed);
    stream.next_in = input;
    stream.next_out = bytes;
    ck_assert_int_eq(inflateInit2(&stream, -MAX_WBITS), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    inflateEnd(&stream);
    free(input);
    return bytes;
}

/* The bytes of one member of the archive zip [size]. */
static unsigned char *read_member(uint32_t *n_bytes, const unsigned char *zip,
    size_t size, const char *member)
{
    const unsigned char *last = zip + size - END_SIZE;
    const unsigned char *entry = zip + little(last + 16, 4);

    for (uint32_t k = 0; k < little(last + 10, 2); k++) {
        const uint32_t n_name = little(entry + 28, 2);

        if (n_name == strlen(member) &&
            memcmp(entry + ENTRY_SIZE, member, n_name) == 0) {
            const unsigned char *header = zip + little(entry + 42, 4);
            const unsigned char *data = header + HEADER_SIZE +
                                        little(header + 26, 2) +
                                        little(header + 28, 2);
            const uint32_t n_packed = little(entry + 20, 4);

            *n_bytes = little(entry + 24, 4);
            if (little(entry + 10, 2) == DEFLATED)
                return inflate_member(data, n_packed, *n_bytes);

            unsigned char *copy = malloc(*n_bytes);
            ck_assert_ptr_nonnull(copy);
            memcpy(copy, data, *n_bytes);
            return copy;
        }
        entry +=
            ENTRY_SIZE + n_name + little(entry + 30, 2) + little(entry + 32, 2);
    }
    ck_abort_msg("no member %s", member);
    return NULL;
}

/* Type and shape from the dictionary in front of an .npy file. */
static void read_header(struct etx_npz_array *array, const char *header)
{
    const char *type = strstr(header, "'descr': '");
    const char *shape = strstr(header, "'shape': (");

    ck_assert_ptr_nonnull(type);
    ck_assert_ptr_nonnull(shape);
    ck_assert_int_eq(sscanf(type, "'descr': '%7[^']'", array->type), 1);
    array->n_values = 1;
    for (shape += strlen("'shape': ("); *shape != ')'; shape++) {
        char *end;
        const long long extent = strtoll(shape, &end, 10);

        ck_assert_int_lt(array->n_dimensions, NPZ_MAX_DIMENSIONS);
        array->shape[array->n_dimensions++] = extent;
        array->n_values *= extent;
        shape = end + strspn(end, " ");
        if (*shape == ')')
            break;
    }
}

/* Copy a matrix whose columns lie one after the other. */
static void transpose(char *to, const unsigned char *from,
    const struct etx_npz_array *array, size_t width)
{
    const size_t n_rows = (size_t)array->shape[0];
    const size_t n_columns = (size_t)array->shape[1];

    ck_assert_int_eq(array->n_dimensions, 2);
    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < n_columns; k++)
            memcpy(to + (i * n_columns + k) * width,
                from + (k * n_rows + i) * width, width);
}

void etx_npz_read(struct etx_npz_array *out, const char *path, const char *name,
    const char *type)
{
    char member[256];
    size_t size = 0;
    uint32_t n_bytes = 0;

    snprintf(member, sizeof member, "%s.npy", name);
    scoped unsigned char *zip = read_file(&size, path);
    scoped unsigned char *npy = read_member(&n_bytes, zip, size, member);
    const uint32_t n_header = little(npy + 8, 2); /* of version 1 */
    scoped char *header = malloc(n_header + 1);

    memset(out, 0, sizeof *out);
    ck_assert_ptr_nonnull(header);
    ck_assert_mem_eq(npy, "\x93NUMPY\x01", 7);
    memcpy(header, npy + 10, n_header);
    header[n_header] = '\0';
    read_header(out, header);
    if (type != NULL)
        ck_assert_str_eq(out->type, type);
    ck_assert_uint_eq(strlen(out->type), 3);

    const size_t width = (size_t)(out->type[2] - '0');
    const size_t n_values_bytes = (size_t)out->n_values * width;
    ck_assert_uint_eq(n_bytes, 10 + n_header + n_values_bytes);
    out->values = malloc(n_values_bytes + 1);
    ck_assert_ptr_nonnull(out->values);
    if (strstr(header, "'fortran_order': True") != NULL)
        transpose(out->values, npy + 10 + n_header, out, width);
    else
        memcpy(out->values, npy + 10 + n_header, n_values_bytes);
}

void etx_npz_release(struct etx_npz_array *array)
{
    free(array->values);
    memset(array, 0, sizeof *array);
}
