/* cuda_shim/dlfcn.h -- cuBLASLt as a library that is loaded: the emulation's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_DLFCN_H
#define ETX_SHIM_DLFCN_H

#define RTLD_NOW   2
#define RTLD_LOCAL 0

#define dlopen  shim_dlopen
#define dlsym   shim_dlsym
#define dlerror shim_dlerror

void *shim_dlopen(const char *file, int flags);
void *shim_dlsym(void *library, const char *name);
const char *shim_dlerror(void);

#endif
