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

/* The entry of a tensor in the header; NULL without memory. */
static json_t *describe(const struct etx_tensor *tensor, size_t begin)
{
    const size_t end = begin + n_bytes(tensor);
    json_t *shape = json_array();
    int failed = 0;

    for (int32_t d = 0; d < tensor->n_dims; d++)
        failed |= json_array_append_new(shape, json_integer(tensor->dim[d]));
    if (failed) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype",
        etx_tensor_types[tensor->type].name, "shape", shape, "data_offsets",
        (json_int_t)begin, (json_int_t)end);
}

/* The header as JSON text, released with free(); NULL without memory. */
static char *make_header(int64_t n_tensors,
    const struct etx_tensor *const *sorted, const json_t *metadata)
{
    json_t *header = json_object();
    size_t begin = 0;
    int failed = header == NULL;
    char *text = NULL;

    if (json_object_size(metadata) > 0)
        failed |= json_object_set_new(
            header, "__metadata__", json_deep_copy(metadata));
    for (int64_t t = 0; t < n_tensors; t++) {
        failed |= json_object_set_new(
            header, sorted[t]->name, describe(sorted[t], begin));
        begin += n_bytes(sorted[t]);
    }
    if (!failed)
        text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    return text;
}

static etx_status put_header(struct etx_file_writer *writer, const char *text)
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
    ETX_CHECK(etx_file_writer_put(writer, prefix, sizeof prefix));
    ETX_CHECK(etx_file_writer_put(writer, text, length));
    ETX_CHECK(etx_file_writer_put(writer, spaces, n_spaces));
done:
    return status;
}

etx_status etx_tensor_file_write(const char *path, int64_t n_tensors,
    const struct etx_tensor *tensors, const json_t *metadata)
{
    const struct etx_tensor **sorted = NULL;
    struct etx_file_writer *writer = NULL;
    char *header = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(
        etx_alloc(&sorted, n_tensors, sizeof *sorted, "a table of tensors"));
    for (int64_t t = 0; t < n_tensors; t++)
        sorted[t] = &tensors[t];
    qsort(sorted, (size_t)n_tensors, sizeof *sorted, compare);
    header = make_header(n_tensors, sorted, metadata);
    if (header == NULL) {
        status = etx_fail(ETX_ERR_MEMORY, "no memory for JSON");
        goto done;
    }
    ETX_CHECK(etx_file_writer_open(&writer, path, 0));
    ETX_CHECK(put_header(writer, header));
    for (int64_t t = 0; t < n_tensors; t++)
        ETX_CHECK(
            etx_file_writer_put(writer, sorted[t]->data, n_bytes(sorted[t])));
    ETX_CHECK(etx_file_writer_commit(writer));
done:
    etx_file_writer_free(writer);
    free(header);
    etx_free(sorted);
    return status;
}
