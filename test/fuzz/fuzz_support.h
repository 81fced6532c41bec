/* fuzz_support.h -- bytes as a file, for readers that take a path.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_FUZZ_FUZZ_SUPPORT_H
#define ETX_TEST_FUZZ_FUZZ_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with these bytes; the path is valid and the content stays until the
 * next call with the same slot, 0 .. 3. */
const char *fuzz_file(int32_t slot, const void *data, size_t size);

/* Ends the run when a failed call left no message or memory, where a call
 * that succeeded left an output or memory is checked by its caller. */
void fuzz_check(int32_t status, int64_t bytes_before);

#endif
