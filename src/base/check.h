/* base/check.h -- leave a function when a call fails.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CHECK_H
#define ETX_BASE_CHECK_H

/* Evaluate call into the local `status`; on failure go to the local `done`. */
#define ETX_CHECK(call)                                                        \
    do {                                                                       \
        status = (call);                                                       \
        if (status != ETX_OK)                                                  \
            goto done;                                                         \
    } while (0)

/* Fail here: the arguments of etx_fail, whose status is that of the function.
 */
#define ETX_FAIL(...)                                                          \
    do {                                                                       \
        status = etx_fail(__VA_ARGS__);                                        \
        goto done;                                                             \
    } while (0)

#endif
