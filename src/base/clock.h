/* base/clock.h -- the monotonic clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CLOCK_H
#define ETX_BASE_CLOCK_H

#include <time.h>

/* Seconds since some fixed time. */
static inline double etx_now(void)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
