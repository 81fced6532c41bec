/* base/sort.c -- a stable sort in time linear in the input, for every input.
 *
 * Least-significant-digit radix sort by bytes; a byte that all keys share
 * costs nothing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include "base/cancel.h"
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
static etx_status distribute(int32_t *to, const int32_t *from,
    const int64_t *keys, int64_t count, int byte, int64_t *cursor)
{
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < count; k++) {
        ETX_POLL(k);
        to[cursor[byte_of(keys[from[k]], byte)]++] = from[k];
    }
done:
    return status;
}

/* cursor [N_VALUES] = the index where the keys with each value of a byte
 * begin. */
static void count_byte(
    int64_t *cursor, const int64_t *keys, int64_t count, int byte)
{
    int64_t begin = 0;

    memset(cursor, 0, N_VALUES * sizeof cursor[0]);
    for (int64_t k = 0; k < count; k++)
        cursor[byte_of(keys[k], byte)]++;
    for (int value = 0; value < N_VALUES; value++) {
        const int64_t n = cursor[value];

        cursor[value] = begin;
        begin += n;
    }
}

/* The bits that differ between keys. */
static uint64_t find_differences(const int64_t *keys, int64_t count)
{
    uint64_t differences = 0;

    for (int64_t k = 1; k < count; k++)
        differences |= (uint64_t)(keys[k] ^ keys[0]);
    return differences;
}

etx_status etx_sort_order(int32_t *order, const int64_t *keys, int64_t count)
{
    etx_status status = ETX_OK;
    int32_t *scratch = NULL;
    int32_t *from = order;
    int32_t *to = NULL;
    int64_t cursor[N_VALUES];

    ETX_NEW(scratch, count, "sort");
    to = scratch;
    for (int64_t k = 0; k < count; k++)
        from[k] = (int32_t)k;
    const uint64_t differences = find_differences(keys, count);
    for (int byte = 0; byte < N_BYTES; byte++) {
        if ((differences >> (8 * byte) & (N_VALUES - 1)) == 0)
            continue;
        count_byte(cursor, keys, count, byte);
        ETX_CHECK(distribute(to, from, keys, count, byte, cursor));

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
