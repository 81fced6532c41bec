/* fuzz_support.c -- bytes as a file, for readers that take a path.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memfd_create */

#include "fuzz_support.h"

#include "base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_SLOTS 4

static int descriptors[N_SLOTS] = {-1, -1, -1, -1};

static void require(int32_t holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

const char *fuzz_file(int32_t slot, const void *data, size_t size)
{
    static char paths[N_SLOTS][64];

    if (descriptors[slot] < 0)
        descriptors[slot] = memfd_create("exatrkx-fuzz", 0);
    require(descriptors[slot] >= 0, "no file in memory");
    require(ftruncate(descriptors[slot], 0) == 0, "cannot truncate");
    require(pwrite(descriptors[slot], data, size, 0) == (ssize_t)size,
        "cannot write");
    (void)snprintf(
        paths[slot], sizeof paths[slot], "/proc/self/fd/%d", descriptors[slot]);
    return paths[slot];
}

void fuzz_check(int32_t status, int64_t bytes_before)
{
    if (status != ETX_OK)
        require(etx_last_error()[0] != '\0', "an error without a message");
    require(etx_heap_in_use() == bytes_before, "memory is left");
}
