/* base/sort.h -- a stable sort whose time no input can spoil.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_SORT_H
#define ETX_BASE_SORT_H

#include <exatrkx/exatrkx.h>

#include <string.h>

/* x, not NaN, as an integer of the same order; -0 is 0. */
static inline int64_t etx_sort_key(float x)
{
    int32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? (int64_t)INT32_MIN - bits : bits;
}

/* order [count] gets the indices 0 .. count-1 such that keys[order[k]] ascend,
 * equal keys by index; count is at most 2^31 - 1. */
etx_status etx_sort_order(int32_t *order, const int64_t *keys, int64_t count);

#endif
