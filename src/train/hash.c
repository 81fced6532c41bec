/* train/hash.c -- hashes of configs, parameters and tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/hash.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

uint64_t etx_hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t k = 0; k < size; k++)
        hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
    return hash;
}

etx_status etx_hash_json(uint64_t *hash, const struct etx_json *json)
{
    char *text = NULL;
    etx_status status = ETX_OK;

    if (json == NULL)
        return ETX_OK;
    ETX_CHECK(etx_json_write(&text, json, ETX_JSON_DIGITS, 1));
    *hash = etx_hash_bytes(*hash, text, strlen(text));
done:
    etx_free(text);
    return status;
}

void etx_hash_text(char text[17], uint64_t hash)
{
    (void)snprintf(text, 17, "%08lx%08lx", (unsigned long)(hash >> 32),
        (unsigned long)(hash & 0xffffffffu));
}

static size_t tensor_bytes(const struct etx_tensor *tensor)
{
    static const size_t size[] = {[ETX_TENSOR_F32] = sizeof(float),
        [ETX_TENSOR_I64] = sizeof(int64_t),
        [ETX_TENSOR_U8] = 1,
        [ETX_TENSOR_F16] = 2,
        [ETX_TENSOR_I8] = 1};

    return (size_t)tensor->n_values * size[tensor->type];
}

etx_status etx_tensor_checksum(
    char text[9], int64_t n_tensors, const struct etx_tensor *tensor)
{
    uLong sum = crc32(0L, Z_NULL, 0);
    etx_status status = ETX_OK;

    for (int64_t t = 0; t < n_tensors; t++) {
        const unsigned char *data = tensor[t].data;
        size_t left = tensor_bytes(tensor + t);

        while (left > 0) {
            const size_t part = left < 1u << 22 ? left : 1u << 22;

            ETX_CHECK(etx_cancel_poll());
            sum = crc32(sum, data, (uInt)part);
            data += part;
            left -= part;
        }
    }
    (void)snprintf(text, 9, "%08lx", (unsigned long)(sum & 0xffffffffu));
done:
    return status;
}
