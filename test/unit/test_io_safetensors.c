/* test_io_safetensors.c -- safetensors files: what is accepted, and refusal
 * of hostile files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_support.h"

#include "base/heap.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define META "\"__metadata__\":{\"etx.config\":\"{}\"}"
#define F32(name, shape, offsets)                                              \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape                         \
    ",\"data_offsets\":" offsets "}"

/* A file: the length of header, header, n_data bytes of data. */
struct file_row {
    const char *name;
    const char *header;
    size_t n_data;
    const char *piece; /* of the message, NULL: accepted */
};

static const struct file_row rows[] = {
    /* accepted */
    {"nothing", "{}", 0, NULL},
    {"spaces", "{}        ", 0, NULL},
    {"metadata", "{" META "}", 0, NULL},
    {"empty metadata", "{\"__metadata__\":{}}", 0, NULL},
    {"one", "{" F32("a", "[2,3]", "[0,24]") "}", 24, NULL},
    {"scalar", "{" F32("a", "[]", "[0,4]") "}", 4, NULL},
    {"zero", "{" F32("a", "[0]", "[0,0]") "}", 0, NULL},
    {"zero times much", "{" F32("a", "[0,4611686018427387904,8]", "[0,0]") "}",
        0, NULL},
    {"zeros in front, named last",
        "{" F32("a", "[1]", "[0,4]") "," F32("z", "[0]", "[0,0]") "}", 4, NULL},
    {"zeros in between",
        "{" F32("b", "[1]", "[4,8]") "," F32("z", "[0]", "[4,4]") "," F32(
            "a", "[1]", "[0,4]") "}",
        8, NULL},
    {"eight dimensions", "{" F32("a", "[1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
        NULL},
    {"other types, not aligned",
        "{\"u\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
        "\"i\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[1,9]}," F32(
            "f", "[1]", "[9,13]") "}",
        13, NULL},
    {"name in UTF-8", "{" F32("\xc3\xa9", "[1]", "[0,4]") "}", 4, NULL},
    {"escaped name", "{" F32("\\u0061\\n", "[1]", "[0,4]") "}", 4, NULL},
    /* the header as JSON */
    {"no header", "", 0, "does not start with {"},
    {"a list", "[]", 0, "does not start with {"},
    {"leading space", " {}", 0, "does not start with {"},
    {"cut", "{\"a\":", 0, "not valid JSON"},
    {"more after", "{}{}", 0, "not valid JSON"},
    {"single quotes", "{'a':1}", 0, "not valid JSON"},
    {"not UTF-8", "{\"\xff\":1}", 0, "not valid JSON"},
    {"NUL in a name", "{" F32("a\\u0000", "[1]", "[0,4]") "}", 4,
        "not valid JSON"},
    {"name twice",
        "{" F32("a", "[1]", "[0,4]") "," F32("a", "[1]", "[4,8]") "}", 8,
        "duplicate object key"},
    {"key twice",
        "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],"
        "\"data_offsets\":[0,4]}}",
        4, "duplicate object key"},
    {"metadata twice", "{" META "," META "}", 0, "duplicate object key"},
    {"five levels", "{\"a\":{\"shape\":[[[1]]]}}", 0,
        "nested deeper than 4 levels"},
    {"integer of 65 bits", "{" F32("a", "[18446744073709551616]", "[0,4]") "}",
        4, "not valid JSON: line 1, column 49: too big integer"},
    /* names */
    {"empty name", "{" F32("", "[1]", "[0,4]") "}", 4, "the name has 0 bytes"},
    /* metadata */
    {"metadata is a list", "{\"__metadata__\":[]}", 0,
        "__metadata__ is no object"},
    {"metadata holds a number", "{\"__metadata__\":{\"a\":1}}", 0,
        "__metadata__: a is not a text"},
    /* tensors */
    {"a number", "{\"a\":1}", 0, "tensor a: expected dtype, shape"},
    {"no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
        "tensor a: expected dtype"},
    {"no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
        "tensor a: expected dtype"},
    {"no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4,
        "tensor a: expected dtype"},
    {"one key more",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],"
        "\"b\":1}}",
        4, "nothing else"},
    {"dtype BF16",
        "{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
        "tensor a: dtype is BF16, expected F32, F16, I64, I8 or U8"},
    {"dtype 7", "{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
        "tensor a: dtype is not a text"},
    {"shape 3", "{" F32("a", "3", "[0,12]") "}", 12,
        "tensor a: shape is not a list"},
    {"shape of text", "{" F32("a", "[\"3\"]", "[0,12]") "}", 12,
        "tensor a: shape holds what is no integer"},
    {"shape of reals", "{" F32("a", "[3.0]", "[0,12]") "}", 12,
        "tensor a: shape holds what is no integer"},
    {"negative shape", "{" F32("a", "[-3]", "[0,12]") "}", 12,
        "tensor a: shape holds what is no integer from 0 on"},
    {"nine dimensions", "{" F32("a", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4,
        "tensor a: shape is not a list of at most 8"},
    {"product that wraps to 4",
        "{" F32("a", "[4194305,4194305,211106198978564]", "[0,16]") "}", 16,
        "tensor a: shape needs more bytes"},
    {"bytes that wrap to 0", "{" F32("a", "[4611686018427387904]", "[0,0]") "}",
        0, "tensor a: shape needs more bytes"},
    {"product beyond 2^63",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4611686018427387904,2],"
        "\"data_offsets\":[0,4]}}",
        4, "tensor a: shape needs more bytes"},
    {"shape larger than data", "{" F32("a", "[3]", "[0,8]") "}", 8,
        "tensor a: 8 bytes of data, its shape and dtype need 12"},
    {"shape smaller than data", "{" F32("a", "[1]", "[0,8]") "}", 8,
        "tensor a: 8 bytes of data, its shape and dtype need 4"},
    {"three offsets", "{" F32("a", "[1]", "[0,4,8]") "}", 8,
        "tensor a: data_offsets is not a list of two"},
    {"negative offset", "{" F32("a", "[1]", "[-4,0]") "}", 4,
        "tensor a: data_offsets holds what is no integer from 0 on"},
    {"end before begin", "{" F32("a", "[1]", "[4,0]") "}", 4,
        "tensor a: data_offsets 4 to 0 do not lie in the 4 bytes"},
    {"end beyond data", "{" F32("a", "[2]", "[0,8]") "}", 4,
        "tensor a: data_offsets 0 to 8 do not lie in the 4 bytes"},
    {"end at 2^63 - 1",
        "{" F32("a", "[1]", "[9223372036854775803,9223372036854775807]") "}", 4,
        "do not lie in the 4 bytes"},
    {"overlap", "{" F32("a", "[2]", "[0,8]") "," F32("b", "[2]", "[4,12]") "}",
        12, "tensor b: begins at byte 4 of the data, expected 8: tensors over"},
    {"the same bytes twice",
        "{" F32("a", "[1]", "[0,4]") "," F32("b", "[1]", "[0,4]") "}", 4,
        "tensors overlap"},
    {"gap", "{" F32("a", "[1]", "[0,4]") "," F32("b", "[1]", "[8,12]") "}", 12,
        "tensor b: begins at byte 8 of the data, expected 4: a gap"},
    {"gap at the start", "{" F32("a", "[1]", "[4,8]") "}", 8, "a gap"},
    {"data after", "{" F32("a", "[1]", "[0,4]") "}", 8,
        "the file has 8 bytes of data, its tensors need 4"},
    {"data and no tensor", "{}", 1, "the file has 1 bytes of data"},
};

/* The bytes of a file with this length field; freed with free. */
static unsigned char *make_file(size_t *size, uint64_t length,
    const char *header, size_t n_header, size_t n_data)
{
    unsigned char *file = malloc(8 + n_header + n_data);

    ck_assert_ptr_nonnull(file);
    for (uint32_t i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> (8 * i));
    memcpy(file + 8, header, n_header);
    for (size_t i = 0; i < n_data; i++)
        file[8 + n_header + i] = (unsigned char)i;
    *size = 8 + n_header + n_data;
    return file;
}

static void expect_file(
    const char *name, const unsigned char *data, size_t size, const char *piece)
{
    const int64_t before = etx_heap_in_use();
    struct etx_tensor_file *file = NULL;
    const etx_status status = etx_tensor_file_parse(&file, data, size);

    io_expect(name, status, piece == NULL ? ETX_OK : ETX_ERR_FORMAT, piece);
    ck_assert((file == NULL) == (status != ETX_OK));
    if (file != NULL)
        ck_assert(etx_json_is(file->metadata, ETX_JSON_OBJECT));
    etx_tensor_file_free(file);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

static void expect_header(const char *name, const char *header, size_t n_header,
    size_t n_data, const char *piece)
{
    size_t size = 0;
    scoped unsigned char *data =
        make_file(&size, n_header, header, n_header, n_data);

    expect_file(name, data, size, piece);
}

IO_TEST(test_io_safetensors_rows, .rows = ROWS(rows))
{
    const struct file_row *row = &rows[_i];

    expect_header(
        row->name, row->header, strlen(row->header), row->n_data, row->piece);
}

IO_TEST(test_io_safetensors_lengths)
{
    static const uint64_t lengths[] = {3, 1000, (uint64_t)1 << 31,
        (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7};
    size_t size = 0;

    for (size_t n = 0; n < 8; n++)
        expect_file("short", (const unsigned char *)"\2\0\0\0\0\0\0", n,
            "no safetensors file");
    for (size_t i = 0; i < ROWS(lengths); i++) {
        scoped unsigned char *data = make_file(&size, lengths[i], "{}", 2, 0);
        expect_file("length", data, size, "a truncated one: a header of");
    }
}

/* Headers too large to be written out in a table. */
IO_TEST(test_io_safetensors_large)
{
    const size_t size = ((size_t)16 << 20) + 1;
    scoped char *text = malloc(size + 64);
    char name[300];

    ck_assert_ptr_nonnull(text);
    memset(text, ' ', size);
    memcpy(text, "{}", 2);
    expect_header("16 MiB", text, size - 1, 0, NULL);
    expect_header("more", text, size, 0, "the limit is 16777216");
    memset(text, '[', size);
    memcpy(text, "{\"a\":", 5);
    expect_header("deep", text, size - 1, 0, "nested deeper than 4 levels");
    for (size_t i = 6; i + 1 < size; i += 3)
        memcpy(text + i, "[],", 3);
    text[5] = '[';
    expect_header("wide", text, size - 1, 0, "more than 262144 values");
    for (size_t n = (size_t)1 << 20; n <= ((size_t)1 << 20) + 1; n++) {
        /* A key of one byte and a value of n - 1. */
        const size_t start =
            (size_t)snprintf(text, 64, "{\"__metadata__\":{\"k\":\"");
        memset(text + start, 'v', n - 1);
        memcpy(text + start + n - 1, "\"}}", 3);
        expect_header("metadata", text, start + n + 2, 0,
            n == (size_t)1 << 20
                ? NULL
                : "__metadata__ has 1048577 bytes, the limit is 1048576");
    }
    for (int32_t length = 255; length < 257; length++) {
        memset(name, 'n', sizeof name);
        name[length] = '\0';
        (void)snprintf(text, size,
            "{\"%s\":{\"dtype\":\"U8\",\"shape\":[1],"
            "\"data_offsets\":[0,1]}}",
            name);
        expect_header("long name", text, strlen(text), 1,
            length == 255 ? NULL : "the name has 256 bytes, expected 1 to 255");
    }
}

IO_TEST(test_io_safetensors_values)
{
    static const char header[] =
        "{" F32("w", "[1,2]", "[1,9]") ","
                                       "\"__metadata__\":{\"k\":\"v\"},"
                                       "\"a\":{\"dtype\":\"U8\",\"shape\":[1],"
                                       "\"data_offsets\":[0,1]}}";
    const float values[2] = {1.5f, -2.0f};
    scoped_tensor_file *file = NULL;
    size_t size = 0;
    scoped unsigned char *data =
        make_file(&size, sizeof header - 1, header, sizeof header - 1, 9);

    memcpy(data + size - 8, values, sizeof values);
    ck_assert_ok(etx_tensor_file_parse(&file, data, size));
    ck_assert_int_eq(file->n_tensors, 2);
    ck_assert_str_eq(file->tensor[0].name, "a");
    ck_assert_ptr_null(etx_tensor_file_find(file, "b"));
    ck_assert_str_eq(etx_json_text(etx_json_get(file->metadata, "k")), "v");
    const struct etx_tensor *w = etx_tensor_file_find(file, "w");
    ck_assert_ptr_nonnull(w);
    ck_assert_int_eq(w->n_dims, 2);
    ck_assert(w->dim[0] == 1 && w->dim[1] == 2 && w->n_values == 2);
    ck_assert_int_eq(memcmp(w->data, values, sizeof values), 0);
}

IO_TEST(test_io_safetensors_write)
{
    static const float values[3] = {1.0f, 2.0f, 3.0f};
    static const uint8_t bytes[5] = {1, 2, 3, 4, 5};
    struct etx_tensor tensors[2];
    static const char *const pair[][2] = {{"k", "caf\xc3\xa9 \"\\"}};
    scoped_json *metadata = NULL;
    scoped_tensor_file *file = NULL;
    size_t size = 0;
    scoped char *data = NULL;

    memset(tensors, 0, sizeof tensors);
    (void)snprintf(tensors[0].name, sizeof tensors[0].name, "z");
    tensors[0].type = ETX_TENSOR_F32;
    tensors[0].n_dims = 2;
    tensors[0].dim[0] = 1;
    tensors[0].dim[1] = tensors[0].n_values = 3;
    tensors[0].data = values;
    (void)snprintf(tensors[1].name, sizeof tensors[1].name, "b");
    tensors[1].type = ETX_TENSOR_U8;
    tensors[1].n_dims = 1;
    tensors[1].dim[0] = tensors[1].n_values = 5;
    tensors[1].data = bytes;
    ck_assert_ok(etx_json_create_texts(&metadata, pair, 1));
    ck_assert_ok(etx_tensor_file_write(io_path("t.gz"), 2, tensors, metadata));
    data = io_read(io_path("t.gz"), &size);
    ck_assert_int_eq(data[8], '{');
    ck_assert_uint_eq((size - 17) % 8, 0);
    ck_assert_ok(etx_tensor_file_parse(&file, data, size));
    ck_assert_uint_eq(etx_json_size(file->metadata), 1);
    ck_assert_str_eq(
        etx_json_text(etx_json_get(file->metadata, "k")), pair[0][1]);
    ck_assert_int_eq(file->n_tensors, 2);
    ck_assert_int_eq(
        memcmp(etx_tensor_file_find(file, "z")->data, values, 12), 0);
    ck_assert_int_eq(memcmp(file->tensor[0].data, bytes, 5), 0);
}
