/* op/stream.c -- poll the caller's cancel function.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/stream.h"

#include "base/cancel.h"
#include "base/status.h"

static bool is_cancelled(const struct etx_stream *stream)
{
    if (etx_pool_is_worker(stream->pool))
        return etx_pool_is_stopped(stream->pool);
    if (stream->cancel == NULL ||
        etx_cancel_call(stream->cancel, stream->cancel_user) == 0)
        return false;
    etx_pool_stop(stream->pool);
    return true;
}

etx_status etx_check_cancelled(const struct etx_stream *stream)
{
    if (!is_cancelled(stream))
        return ETX_OK;
    return etx_fail(ETX_ERR_CANCELLED, "cancelled by the caller");
}
