/* op/x86/select.h -- the smallest of unique 64-bit keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_X86_SELECT_H
#define ETX_OP_X86_SELECT_H

#include <stdint.h>

/* A key that sorts by (x, index); index >= 0 is its low half. */
uint64_t etx_ordered_key(float x, int32_t index);

/* Reorder key [n], all different, so that the first k are the k smallest;
 * 0 <= k <= n. Expected time O(n). */
void etx_select(uint64_t *key, int64_t n, int64_t k);

#endif
