/* lib/glibc_names.c -- run with a glibc older than the one of the build.
 *
 * The linker sends calls of hypot here (--wrap, shared library only). glibc
 * 2.35 gave hypot a new version; hypotf64 is the same code under a name that
 * is there since 2.27, so the library needs glibc 2.34 and no more.
 *
 * SPDX-License-Identifier: Apache-2.0 */

double hypotf64(double x, double y); /* of <math.h>, for ISO/IEC TS 18661-3 */
double __wrap_hypot(double x, double y);

double __wrap_hypot(double x, double y)
{
    return hypotf64(x, y);
}
