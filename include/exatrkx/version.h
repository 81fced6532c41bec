/* exatrkx/version.h -- the version of the library, read by the Makefile.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_VERSION_H
#define ETX_VERSION_H

/* Changes with the ABI and soname. */
#define ETX_VERSION_MAJOR 0
/* Grows when functions, constants or fields at the end of structs are added. */
#define ETX_VERSION_MINOR 1
/* Grows with every other release. */
#define ETX_VERSION_PATCH 1

#endif
