/* base/cancel.c -- the callback of this thread that ends a call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/cancel.h"

#include "base/clock.h"

#include <stdbool.h>

#define INTERVAL 20e-3 /* s between calls of it, which may wait for a lock */

static _Thread_local struct etx_cancel current;
static _Thread_local double polled;
static _Thread_local bool is_called; /* a callback runs */

struct etx_cancel etx_cancel_replace(struct etx_cancel cancel)
{
    const struct etx_cancel before = current;

    current = cancel;
    polled = 0.0;
    return before;
}

void etx_set_cancel(int32_t (*cancel)(void *user), void *user)
{
    (void)etx_cancel_replace((struct etx_cancel){cancel, user});
}

int32_t etx_cancel_call(int32_t (*poll)(void *user), void *user)
{
    const bool before = is_called;

    is_called = true;
    const int32_t answer = poll(user);
    is_called = before;
    return answer;
}

etx_status etx_cancel_poll(void)
{
    const double now = current.poll == NULL ? 0.0 : etx_now();

    if (current.poll == NULL || is_called || now - polled < INTERVAL)
        return ETX_OK;
    if (etx_cancel_call(current.poll, current.user) != 0)
        return etx_fail(ETX_ERR_CANCELLED, "cancelled by the caller");
    polled = now;
    return ETX_OK;
}

void etx_cancel_begin(void)
{
    polled = 0.0;
}

int32_t etx_is_cancelled(void)
{
    return etx_cancel_poll() != ETX_OK;
}
