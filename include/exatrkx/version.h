/* exatrkx/version.h -- the version of the library, read by the Makefile.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_VERSION_H
#define ETX_VERSION_H

/* Another one: another ABI and soname. */
#define ETX_VERSION_MAJOR 0
/* More functions, or more fields at the end of an options struct; before 1.0
 * also what docs/stability.md allows. */
#define ETX_VERSION_MINOR 1
/* The same interface. */
#define ETX_VERSION_PATCH 0

#endif
