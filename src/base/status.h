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

/* Around a function of the caller that returns a status:
 *
 *     etx_callback_begin(&kept);
 *     status = etx_callback_end(&kept, "swap", swap(...));
 *
 * A failure has a message, which is not an older one: the callback's own where
 * it set one. What is no status is ETX_ERR_IO. */
struct etx_callback {
    char message[ETX_MESSAGE_SIZE]; /* the last error before it */
};
void etx_callback_begin(struct etx_callback *kept);
etx_status etx_callback_end(
    const struct etx_callback *kept, const char *name, etx_status status);
#endif
