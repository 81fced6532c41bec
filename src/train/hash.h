/* train/hash.h -- hashes of configs, parameters and tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_HASH_H
#define ETX_TRAIN_HASH_H

#include "base/json.h"

#include "io/safetensors.h"

#define ETX_HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a, 64 bits (Fowler, Noll, Vo), over more bytes; of JSON, over its text
 * with sorted keys (NULL: nothing). */
uint64_t etx_hash_bytes(uint64_t hash, const void *data, size_t size);
etx_status etx_hash_json(uint64_t *hash, const struct etx_json *json);

/* 16 hexadecimal digits. */
void etx_hash_text(char text[17], uint64_t hash);

/* 8 hexadecimal digits: CRC-32 over the data of all tensors. */
etx_status etx_tensor_checksum(
    char text[9], int64_t n_tensors, const struct etx_tensor *tensor);

#endif
