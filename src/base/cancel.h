/* base/cancel.h -- the callback of this thread that ends a call.
 *
 * Every loop whose length the input sets polls it on the thread of the caller:
 * where there is a context, etx_check_cancelled (op/stream.h), else this.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CANCEL_H
#define ETX_BASE_CANCEL_H

#include "base/check.h"
#include "base/status.h"

struct etx_cancel {
    int32_t (*poll)(void *user); /* or NULL */
    void *user;
};

/* Replace it, and return what was there. */
struct etx_cancel etx_cancel_replace(struct etx_cancel cancel);

/* What a callback of the caller says. Calls that it makes meanwhile do not poll
 * that of the thread, which may be the same. */
int32_t etx_cancel_call(int32_t (*poll)(void *user), void *user);

/* ETX_ERR_CANCELLED when the callback says so, which is called at the first
 * poll of a call and then every few milliseconds at most. */
etx_status etx_cancel_poll(void);
/* A call begins. */
void etx_cancel_begin(void);

/* In a loop of cheap steps, for step k. */
#define ETX_POLL(k)                                                            \
    do {                                                                       \
        if (((k)&0x3fff) == 0)                                                 \
            ETX_CHECK(etx_cancel_poll());                                      \
    } while (0)

#endif
