/* op/poll.h -- polls in long loops of cheap steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_POLL_H
#define ETX_OP_POLL_H

#include "base/check.h"
#include "op/stream.h"

/* After step k, one in 65 536. */
#define ETX_POLL_STREAM(stream, k)                                             \
    do {                                                                       \
        if (((k)&0xffff) == 0xffff)                                            \
            ETX_CHECK(etx_check_cancelled(stream));                            \
    } while (0)

#endif
