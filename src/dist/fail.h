/* dist/fail.h -- errors of libexatrkx_dist, kept where etx_last_error finds
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_FAIL_H
#define ETX_DIST_FAIL_H

#include <exatrkx/exatrkx.h>

#include <fenv.h>

/* Keep the formatted message (at most 511 bytes) as this thread's last error
 * and return status. Integers and %s only: %g would follow the host's
 * locale. */
etx_status etx_dist_fail(etx_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An object or output that must be there, else ETX_ERR_ARGUMENT with these
 * names. */
etx_status etx_dist_check_given(
    const char *function, const char *name, const void *pointer);

/* *out = count * size zeroed bytes, to be freed with free(); what names them in
 * the message of ETX_ERR_MEMORY. count 0 gives a pointer, too. */
etx_status etx_dist_alloc(
    void *out_pointer, int64_t count, size_t size, const char *what);

/* Evaluate call into the local `status`; on failure go to the local `done`. */
#define ETX_CHECK(call)                                                        \
    do {                                                                       \
        status = (call);                                                       \
        if (status != ETX_OK)                                                  \
            goto done;                                                         \
    } while (0)

/* Enter the default floating-point environment; *host gets the caller's. */
static inline void etx_dist_enter(fenv_t *host)
{
    (void)fegetenv(host);
    (void)fesetenv(FE_DFL_ENV);
}

/* Back to the caller's; returns status. */
static inline etx_status etx_dist_leave(const fenv_t *host, etx_status status)
{
    (void)fesetenv(host);
    return status;
}

#endif
