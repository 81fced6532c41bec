/* hosts/traps.h -- traps of floating point, for tests with a C library that has
 * no feenableexcept: bits 7 to 12 of MXCSR are their masks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_HOSTS_TRAPS_H
#define ETX_TEST_HOSTS_TRAPS_H

#include <fenv.h>
#include <xmmintrin.h>

#define TRAP_MASKS 7

static inline int fegetexcept(void)
{
    return (int)(~_mm_getcsr() >> TRAP_MASKS) & FE_ALL_EXCEPT;
}

static inline int feenableexcept(int which)
{
    const int before = fegetexcept();

    _mm_setcsr(
        _mm_getcsr() & ~((unsigned)(which & FE_ALL_EXCEPT) << TRAP_MASKS));
    return before;
}

static inline int fedisableexcept(int which)
{
    const int before = fegetexcept();

    _mm_setcsr(_mm_getcsr() | (unsigned)(which & FE_ALL_EXCEPT) << TRAP_MASKS);
    return before;
}

#endif
