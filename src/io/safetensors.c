/* io/safetensors.c -- read named tensors from one file, strictly.
 *
 * The offsets of all tensors must tile the data: sorted by offset, each begins
 * where the previous one ends. That excludes overlaps and gaps, which
 * other readers were made to disclose memory with.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/safetensors.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/json.h"
#include "io/tensor_types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES       8
#define MAX_HEADER_BYTES   ((uint64_t)16 << 20)
#define MAX_METADATA_BYTES ((size_t)1 << 20)
#define MAX_DEPTH          4
#define METADATA_KEY       "__metadata__"

/* Enough of a bad name to find it. */
#define TENSOR_NAME "tensor %.80s"

const struct etx_tensor_type_info etx_tensor_types[ETX_N_TENSOR_TYPES] = {
    [ETX_TENSOR_F32] = {"F32", 4},
    [ETX_TENSOR_I64] = {"I64", 8},
    [ETX_TENSOR_U8] = {"U8", 1},
    [ETX_TENSOR_F16] = {"F16", 2},
    [ETX_TENSOR_I8] = {"I8", 1},
};

/* A tensor and its offset in the data. */
struct entry {
    struct etx_tensor tensor;
    size_t begin, end;
};

/* ------------------------------------------------------- one tensor -- */

static etx_status read_type(
    struct etx_tensor *tensor, const char *name, const struct etx_json *value)
{
    const char *text = etx_json_text(value);

    for (int32_t type = 0; text != NULL && type < ETX_N_TENSOR_TYPES; type++)
        if (strcmp(text, etx_tensor_types[type].name) == 0) {
            tensor->type = type;
            return ETX_OK;
        }
    return etx_fail(ETX_ERR_FORMAT,
        TENSOR_NAME ": dtype is %.20s, expected F32, F16, I64, I8 or U8", name,
        text == NULL ? "not a text" : text);
}

/* An element of a list, as a number that is not negative. */
static etx_status read_count(uint64_t *out, const char *name, const char *list,
    const struct etx_json *value)
{
    if (!etx_json_is(value, ETX_JSON_INTEGER) || etx_json_integer(value) < 0)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": %s holds what is no integer from 0 on", name, list);
    *out = (uint64_t)etx_json_integer(value);
    return ETX_OK;
}

/* Set the shape and its size in bytes. */
static etx_status read_shape(struct etx_tensor *tensor, size_t *n_bytes,
    const char *name, const struct etx_json *value)
{
    const size_t n_dims = etx_json_size(value);
    size_t n_values = 1;
    etx_status status = ETX_OK;

    if (!etx_json_is(value, ETX_JSON_LIST) || n_dims > ETX_TENSOR_MAX_DIMS)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": shape is not a list of at most %d sizes", name,
            ETX_TENSOR_MAX_DIMS);
    const struct etx_json *entry = etx_json_first(value);
    for (size_t d = 0; d < n_dims; d++, entry = entry->next) {
        uint64_t dim = 0;
        ETX_CHECK(read_count(&dim, name, "shape", entry));
        tensor->dim[d] = (int64_t)dim;
        if (__builtin_mul_overflow(n_values, dim, &n_values))
            n_values = SIZE_MAX;
    }
    if (__builtin_mul_overflow(
            n_values, etx_tensor_types[tensor->type].size, n_bytes) ||
        n_values > INT64_MAX)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": shape needs more bytes than memory can address",
            name);
    tensor->n_dims = (int32_t)n_dims;
    tensor->n_values = (int64_t)n_values;
done:
    return status;
}

static etx_status read_offsets(struct entry *entry, size_t data_size,
    const char *name, const struct etx_json *value)
{
    uint64_t begin = 0;
    uint64_t end = 0;
    etx_status status = ETX_OK;

    if (!etx_json_is(value, ETX_JSON_LIST) || etx_json_size(value) != 2)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": data_offsets is not a list of two", name);
    const struct etx_json *first = etx_json_first(value);
    ETX_CHECK(read_count(&begin, name, "data_offsets", first));
    ETX_CHECK(read_count(&end, name, "data_offsets", first->next));
    if (begin > end || end > data_size)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": data_offsets %" PRIu64 " to %" PRIu64
                        " do not lie in the %zu bytes of data",
            name, begin, end, data_size);
    entry->begin = (size_t)begin;
    entry->end = (size_t)end;
done:
    return status;
}

static etx_status read_name(struct etx_tensor *tensor, const char *name)
{
    const size_t length = strlen(name);

    if (length == 0 || length >= sizeof tensor->name)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": the name has %zu bytes, expected 1 to %zu", name,
            length, sizeof tensor->name - 1);
    memcpy(tensor->name, name, length + 1);
    return ETX_OK;
}

static etx_status read_entry(struct entry *entry, const char *name,
    const struct etx_json *value, const unsigned char *data, size_t data_size)
{
    const struct etx_json *shape = etx_json_get(value, "shape");
    const struct etx_json *type = etx_json_get(value, "dtype");
    const struct etx_json *offsets = etx_json_get(value, "data_offsets");
    size_t n_bytes = 0;
    etx_status status = ETX_OK;

    ETX_CHECK(read_name(&entry->tensor, name));
    if (shape == NULL || type == NULL || offsets == NULL ||
        etx_json_size(value) != 3)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME
            ": expected dtype, shape, data_offsets and nothing else",
            name);
    ETX_CHECK(read_type(&entry->tensor, name, type));
    ETX_CHECK(read_shape(&entry->tensor, &n_bytes, name, shape));
    ETX_CHECK(read_offsets(entry, data_size, name, offsets));
    if (entry->end - entry->begin != n_bytes)
        return etx_fail(ETX_ERR_FORMAT,
            TENSOR_NAME ": %zu bytes of data, its shape and dtype need %zu",
            name, entry->end - entry->begin, n_bytes);
    entry->tensor.data = data + entry->begin;
done:
    return status;
}

/* ------------------------------------------------------- all tensors -- */

static etx_status read_metadata(
    struct etx_json **out, const struct etx_json *value)
{
    size_t size = 0;

    if (value == NULL)
        return etx_json_create_object(out);
    if (!etx_json_is(value, ETX_JSON_OBJECT))
        return etx_fail(ETX_ERR_FORMAT, METADATA_KEY " is no object");
    for (const struct etx_json *member = etx_json_first(value); member != NULL;
         member = member->next) {
        if (!etx_json_is(member, ETX_JSON_TEXT))
            return etx_fail(ETX_ERR_FORMAT,
                METADATA_KEY ": %.80s is not a text", member->key);
        size += strlen(member->key) + member->length;
    }
    if (size > MAX_METADATA_BYTES)
        return etx_fail(ETX_ERR_FORMAT,
            METADATA_KEY " has %zu bytes, the limit is %zu", size,
            MAX_METADATA_BYTES);
    return etx_json_copy(out, value);
}

static int compare_offsets(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static int compare_names(const void *left, const void *right)
{
    const struct etx_tensor *a = left;
    const struct etx_tensor *b = right;

    return strcmp(a->name, b->name);
}

/* The tensors, sorted by offset, fill the data without gap or overlap. */
static etx_status check_tiling(
    const struct entry *entries, int64_t n_entries, size_t data_size)
{
    size_t filled = 0;

    for (int64_t t = 0; t < n_entries; t++) {
        if (entries[t].begin != filled)
            return etx_fail(ETX_ERR_FORMAT,
                TENSOR_NAME
                ": begins at byte %zu of the data, expected %zu: %s",
                entries[t].tensor.name, entries[t].begin, filled,
                entries[t].begin < filled ? "tensors overlap" : "a gap");
        filled = entries[t].end;
    }
    if (filled != data_size)
        return etx_fail(ETX_ERR_FORMAT,
            "the file has %zu bytes of data, its tensors need %zu", data_size,
            filled);
    return ETX_OK;
}

static etx_status read_entries(struct etx_tensor_file *file,
    const struct etx_json *header, const unsigned char *data, size_t data_size)
{
    struct entry *entries = NULL;
    int64_t n = 0;
    etx_status status = ETX_OK;

    ETX_NEW(entries, (int64_t)etx_json_size(header), "a table of tensors");
    for (const struct etx_json *member = etx_json_first(header); member != NULL;
         member = member->next)
        if (strcmp(member->key, METADATA_KEY) != 0)
            ETX_CHECK(read_entry(
                &entries[n++], member->key, member, data, data_size));
    qsort(entries, (size_t)n, sizeof *entries, compare_offsets);
    ETX_CHECK(check_tiling(entries, n, data_size));
    ETX_NEW(file->tensor, n, "a table of tensors");
    for (int64_t t = 0; t < n; t++)
        file->tensor[t] = entries[t].tensor;
    qsort(file->tensor, (size_t)n, sizeof *file->tensor, compare_names);
    file->n_tensors = n;
done:
    etx_free(entries);
    return status;
}

/* -------------------------------------------------------------- files -- */

static uint64_t header_length(const unsigned char *start)
{
    uint64_t length = 0;

    for (uint32_t i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)start[i] << (8 * i);
    return length;
}

/* The first bytes of a file of this size. */
static etx_status check_start(
    const unsigned char start[ETX_START_BYTES], size_t size)
{
    const uint64_t length = header_length(start);

    if (size < LENGTH_BYTES)
        return etx_fail(ETX_ERR_FORMAT,
            "no safetensors file: %zu bytes, expected at least %d", size,
            LENGTH_BYTES);
    if (length > size - LENGTH_BYTES)
        return etx_fail(ETX_ERR_FORMAT,
            "no safetensors file or a truncated one: a header of %" PRIu64
            " bytes in a file of %zu",
            length, size);
    if (length > MAX_HEADER_BYTES)
        return etx_fail(ETX_ERR_FORMAT,
            "the header has %" PRIu64 " bytes, the limit is %" PRIu64, length,
            MAX_HEADER_BYTES);
    if (length == 0 || start[LENGTH_BYTES] != '{')
        return etx_fail(ETX_ERR_FORMAT,
            "no safetensors file: the header does not start with {");
    return ETX_OK;
}

etx_status etx_tensor_file_read(struct etx_bytes *out, const char *path)
{
    return etx_file_read_checked(out, path, ETX_MODEL_MAX_BYTES, check_start);
}

etx_status etx_tensor_file_parse(
    struct etx_tensor_file **out, const void *data, size_t size)
{
    struct etx_tensor_file *file = NULL;
    struct etx_json *header = NULL;
    unsigned char start[ETX_START_BYTES] = {0};
    const char *text = NULL;
    size_t text_size = 0;
    etx_status status = ETX_OK;

    if (size > 0)
        memcpy(start, data, size < sizeof start ? size : sizeof start);
    ETX_CHECK(check_start(start, size));
    text = (const char *)data + LENGTH_BYTES;
    text_size = (size_t)header_length(start);
    ETX_NEW(file, 1, "a table of tensors");
    ETX_CHECK(
        etx_json_parse(&header, "the header", text, text_size, MAX_DEPTH));
    ETX_CHECK(
        read_metadata(&file->metadata, etx_json_get(header, METADATA_KEY)));
    ETX_CHECK(read_entries(file, header,
        (const unsigned char *)data + LENGTH_BYTES + text_size,
        size - LENGTH_BYTES - text_size));
    *out = file;
    file = NULL;
done:
    etx_json_free(header);
    etx_tensor_file_free(file);
    return status;
}

void etx_tensor_file_free(struct etx_tensor_file *file)
{
    if (file == NULL)
        return;
    etx_json_free(file->metadata);
    etx_free(file->tensor);
    etx_free(file);
}

static int compare_key(const void *key, const void *element)
{
    const struct etx_tensor *tensor = element;

    return strcmp(key, tensor->name);
}

const struct etx_tensor *etx_tensor_file_find(
    const struct etx_tensor_file *file, const char *name)
{
    return bsearch(name, file->tensor, (size_t)file->n_tensors,
        sizeof *file->tensor, compare_key);
}
