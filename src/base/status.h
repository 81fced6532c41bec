/* base/status.h -- status values, the last error of a thread, checked calls.
 *
 * A function that finds a cause calls etx_fail once; its callers pass the
 * status on untouched.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_STATUS_H
#define ETX_BASE_STATUS_H

#include <exatrkx/exatrkx.h>

#define ETX_MESSAGE_SIZE 512

/* Keep the formatted message as this thread's last error and return status.
 * Only %s %d %c %zu %x and PRId64-like integers and %.9g: numbers are written
 * with a dot whatever the host's locale. At most 511 bytes are kept. */
etx_status etx_fail(etx_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#endif
