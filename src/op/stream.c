/* op/stream.c -- poll the caller's cancel function.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/stream.h"

#include "base/status.h"

etx_status etx_check_cancelled(const struct etx_stream *stream)
{
    if (stream->cancel == NULL || stream->cancel(stream->cancel_user) == 0)
        return ETX_OK;
    return etx_fail(ETX_ERR_CANCELLED, "cancelled by the caller");
}
