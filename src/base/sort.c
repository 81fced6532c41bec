/* base/sort.c -- a stable sort in time linear in the input, for every input.
 *
 * Least-significant-digit radix sort by bytes; a byte that all keys share
 * costs one counting pass and no move.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

#define N_BYTES  8
#define N_VALUES 256

/* Byte number `byte` of key, 0 the lowest. The sign bit is flipped, so that
 * unsigned bytes order signed keys. */
static unsigned byte_of(int64_t key, int byte)
{
    const uint64_t flipped = (uint64_t)key ^ (uint64_t)1 << 63;

    return (unsigned)(flipped >> (8 * byte)) & (N_VALUES - 1);
}

/* Distribute from [count] to `to` by one byte; cursor [N_VALUES]: where the
 * next key of each value goes. */
static void distribute(int32_t *to, const int32_t *from, const int64_t *keys,
    int64_t count, int byte, int64_t *cursor)
{
    for (int64_t k = 0; k < count; k++)
        to[cursor[byte_of(keys[from[k]], byte)]++] = from[k];
}

/* cursor [N_VALUES] = the index where the keys with each value of a byte begin;
 * returns the largest number of keys with the same value. */
static int64_t count_byte(
    int64_t *cursor, const int64_t *keys, int64_t count, int byte)
{
    int64_t begin = 0;
    int64_t max = 0;

    memset(cursor, 0, N_VALUES * sizeof cursor[0]);
    for (int64_t k = 0; k < count; k++)
        cursor[byte_of(keys[k], byte)]++;
    for (int value = 0; value < N_VALUES; value++) {
        const int64_t n = cursor[value];

        max = n > max ? n : max;
        cursor[value] = begin;
        begin += n;
    }
    return max;
}

etx_status etx_sort_order(int32_t *order, const int64_t *keys, int64_t count)
{
    etx_status status = ETX_OK;
    int32_t *scratch = NULL;
    int32_t *from = order;
    int32_t *to = NULL;
    int64_t cursor[N_VALUES];

    ETX_CHECK(etx_alloc(&scratch, count, sizeof *scratch, "sort"));
    to = scratch;
    for (int64_t k = 0; k < count; k++)
        from[k] = (int32_t)k;
    for (int byte = 0; byte < N_BYTES; byte++) {
        if (count_byte(cursor, keys, count, byte) == count)
            continue;
        distribute(to, from, keys, count, byte, cursor);

        int32_t *const swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, (size_t)count * sizeof *order);
done:
    etx_free(scratch);
    return status;
}
