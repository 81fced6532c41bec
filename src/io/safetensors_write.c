/* io/safetensors_write.c -- write named tensors to one file.
 *
 * Tensors are sorted by name, in the header and in the data, so that equal
 * content gives equal bytes. Spaces pad the header to a multiple of eight
 * bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/safetensors.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/file.h"
#include "io/tensor_types.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8

static int compare(const void *left, const void *right)
{
    const struct etx_tensor *const *a = left;
    const struct etx_tensor *const *b = right;

    return strcmp((*a)->name, (*b)->name);
}

static size_t n_bytes(const struct etx_tensor *tensor)
{
    return (size_t)tensor->n_values * etx_tensor_types[tensor->type].size;
}

struct etx_tensor etx_tensor_vector(
    const char *name, enum etx_tensor_type type, int64_t n, const void *data)
{
    struct etx_tensor tensor = {.type = (int32_t)type,
        .n_dims = 1,
        .dim = {n},
        .n_values = n,
        .data = data};

    (void)snprintf(tensor.name, sizeof tensor.name, "%s", name);
    return tensor;
}

/* The entry of a tensor in the header. */
static etx_status set_entry(
    struct etx_json *header, const struct etx_tensor *tensor, size_t begin)
{
    const int64_t offset[] = {
        (int64_t)begin, (int64_t)(begin + n_bytes(tensor))};
    struct etx_json *entry = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_set_object(&entry, header, tensor->name));
    ETX_CHECK(
        etx_json_set_text(entry, "dtype", etx_tensor_types[tensor->type].name));
    ETX_CHECK(
        etx_json_set_integers(entry, "shape", tensor->dim, tensor->n_dims));
    ETX_CHECK(etx_json_set_integers(entry, "data_offsets", offset, 2));
done:
    return status;
}

/* The header as JSON text, for etx_free. */
static etx_status make_header(char **text, int64_t n_tensors,
    const struct etx_tensor *const *sorted, const struct etx_json *metadata)
{
    struct etx_json *header = NULL;
    size_t begin = 0;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_create_object(&header));
    if (etx_json_size(metadata) > 0)
        ETX_CHECK(etx_json_set_copy(header, "__metadata__", metadata));
    for (int64_t t = 0; t < n_tensors; t++) {
        ETX_CHECK(set_entry(header, sorted[t], begin));
        begin += n_bytes(sorted[t]);
    }
    ETX_CHECK(etx_json_write(text, header, ETX_JSON_DIGITS, 0));
done:
    etx_json_free(header);
    return status;
}

static etx_status write_header(struct etx_file_writer *writer, const char *text)
{
    static const char spaces[LENGTH_BYTES] = "        ";
    const size_t length = strlen(text);
    const size_t n_spaces =
        (LENGTH_BYTES - length % LENGTH_BYTES) % LENGTH_BYTES;
    const uint64_t total = length + n_spaces;
    unsigned char prefix[LENGTH_BYTES];
    etx_status status = ETX_OK;

    for (uint32_t i = 0; i < LENGTH_BYTES; i++)
        prefix[i] = (unsigned char)(total >> (8 * i));
    ETX_CHECK(etx_file_writer_append(writer, prefix, sizeof prefix));
    ETX_CHECK(etx_file_writer_append(writer, text, length));
    ETX_CHECK(etx_file_writer_append(writer, spaces, n_spaces));
done:
    return status;
}

etx_status etx_tensor_file_write(const char *path, int64_t n_tensors,
    const struct etx_tensor *tensors, const struct etx_json *metadata)
{
    const struct etx_tensor **sorted = NULL;
    struct etx_file_writer *writer = NULL;
    char *header = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(sorted, n_tensors, "a table of tensors");
    for (int64_t t = 0; t < n_tensors; t++)
        sorted[t] = &tensors[t];
    qsort(sorted, (size_t)n_tensors, sizeof *sorted, compare);
    ETX_CHECK(make_header(&header, n_tensors, sorted, metadata));
    ETX_CHECK(etx_file_writer_open(&writer, path, 0));
    ETX_CHECK(write_header(writer, header));
    for (int64_t t = 0; t < n_tensors; t++)
        ETX_CHECK(etx_file_writer_append(
            writer, sorted[t]->data, n_bytes(sorted[t])));
    ETX_CHECK(etx_file_writer_commit(writer));
done:
    etx_file_writer_free(writer);
    etx_free(header);
    etx_free(sorted);
    return status;
}
