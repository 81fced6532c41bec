/* base/float_environment.h -- compute under the default rules of arithmetic.
 *
 * A host may trap floating-point exceptions, round upward or flush small
 * numbers to zero. Between enter and leave the default environment
 * is in force, and leave restores the host's exactly: flags that the library's
 * arithmetic raised are discarded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_FLOAT_ENVIRONMENT_H
#define ETX_BASE_FLOAT_ENVIRONMENT_H

#include <fenv.h>

static inline void etx_float_environment_enter(fenv_t *host)
{
    (void)fegetenv(host);
    (void)fesetenv(FE_DFL_ENV);
}

static inline void etx_float_environment_leave(const fenv_t *host)
{
    (void)fesetenv(host);
}

#endif
