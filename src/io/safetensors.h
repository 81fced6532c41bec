/* io/safetensors.h -- named tensors and string metadata in one file.
 *
 * The format of https://github.com/huggingface/safetensors: u64 little-endian
 * header length, JSON header, data. Read strictly (docs/model_format.md).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_SAFETENSORS_H
#define ETX_IO_SAFETENSORS_H

#include "base/json.h"

#include "base/status.h"

#define ETX_TENSOR_MAX_DIMS 8

enum etx_tensor_type {
    ETX_TENSOR_F32,
    ETX_TENSOR_I64,
    ETX_TENSOR_U8,
    ETX_TENSOR_F16,
    ETX_TENSOR_I8
};

struct etx_tensor {
    char name[256];
    int32_t type; /* enum etx_tensor_type */
    int32_t n_dims;
    int64_t dim[ETX_TENSOR_MAX_DIMS];
    int64_t n_values;
    const void *data; /* little-endian, any alignment: copy with memcpy */
};

/* A parsed file; tensors point into the bytes it was parsed from. */
struct etx_tensor_file {
    int64_t n_tensors;
    struct etx_tensor *tensor; /* [n_tensors] sorted by name */
    struct etx_json *metadata; /* object of strings, never NULL */
};

/* data [size] must outlive the file. */
etx_status etx_tensor_file_parse(
    struct etx_tensor_file **out, const void *data, size_t size);
void etx_tensor_file_free(struct etx_tensor_file *file);
/* NULL when there is none of that name. */
const struct etx_tensor *etx_tensor_file_find(
    const struct etx_tensor_file *file, const char *name);

/* A tensor of one dimension: data [n], borrowed. */
struct etx_tensor etx_tensor_vector(
    const char *name, enum etx_tensor_type type, int64_t n, const void *data);

/* Write atomically: temporary file next to path, fsync, rename, fsync of the
 * folder. On error the old file is intact and nothing is left behind. */
etx_status etx_tensor_file_write(const char *path, int64_t n_tensors,
    const struct etx_tensor *tensors, const struct etx_json *metadata);

#endif
