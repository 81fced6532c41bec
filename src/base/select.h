/* base/select.h -- the smallest of unique 64-bit keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_SELECT_H
#define ETX_BASE_SELECT_H

#include <stdint.h>
#include <string.h>

/* A key that sorts by (x, index); index >= 0 is its low half. */
static inline uint64_t etx_ordered_key(float x, int32_t index)
{
    uint32_t bits;

    x += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    bits ^= (0u - (bits >> 31)) | UINT32_C(1) << 31; /* without a branch */
    return (uint64_t)bits << 32 | (uint32_t)index;
}

/* Reorder key [n], all different, so that the first k are the k smallest;
 * 0 <= k <= n. Expected time O(n). */
void etx_select(uint64_t *key, int64_t n, int64_t k);

#endif
