/* exatrkx/version.h -- the version of the library, read by Makefile and .pc.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_VERSION_H
#define ETX_VERSION_H

#define ETX_VERSION_MAJOR 0
#define ETX_VERSION_MINOR 1
#define ETX_VERSION_PATCH 0

#endif
