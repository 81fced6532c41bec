/* fuzz_gzip.c -- hostile gzip data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "base/heap.h"
#include "io/file.h"

#include <string.h>

/* A larger block would come from the system in each execution. */
#define MAX ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t before = etx_heap_in_use();
    struct etx_bytes bytes = {NULL, 0};
    const etx_status status =
        etx_gunzip(&bytes, "fuzz.gz", (const char *)data, size, MAX);

    if (status == ETX_OK && (bytes.size > MAX || bytes.data[bytes.size] != 0))
        __builtin_trap();
    etx_bytes_release(&bytes);
    fuzz_check(status, before);
    return 0;
}
