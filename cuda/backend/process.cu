/* cuda/backend/process.cu -- what the process has of CUDA, for all contexts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/process.h"

#include <dlfcn.h>
#include <pthread.h>

#define TEXT_OF(value) #value
#define FILE_OF(major) "libcublasLt.so." TEXT_OF(major)
#define BLAS_FILE      FILE_OF(CUBLAS_VER_MAJOR)
#define MAX_DEVICES    64 /* others are not kept */

struct etx_blas etx_blas;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_blas;
static bool is_kept[MAX_DEVICES];

template <typename Function>
static etx_status find(Function *out, void *library, const char *name)
{
    void *const address = dlsym(library, name);

    if (address == NULL)
        return etx_fail(
            ETX_ERR_DEVICE, "device cuda: %s has no %s", BLAS_FILE, name);
    *out = reinterpret_cast<Function>(address);
    return ETX_OK;
}

/* It stays loaded: contexts come and go. */
static etx_status load(void)
{
    void *const library = dlopen(BLAS_FILE, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return etx_fail(ETX_ERR_DEVICE, "device cuda: cuBLASLt: %s", dlerror());
#define FIND(name)                                                             \
    {                                                                          \
        const etx_status status = find(&etx_blas.name, library, #name);        \
        if (status != ETX_OK)                                                  \
            return status;                                                     \
    }
    ETX_BLAS_FUNCTIONS(FIND)
#undef FIND
    has_blas = true;
    return ETX_OK;
}

etx_status etx_cuda_load_blas(void)
{
    (void)pthread_mutex_lock(&lock);
    const etx_status status = has_blas ? ETX_OK : load();

    (void)pthread_mutex_unlock(&lock);
    return status;
}

CUresult etx_cuda_keep_context(
    CUdevice device, CUresult (*retain)(CUcontext *, CUdevice))
{
    CUcontext unused = NULL;
    CUresult result = CUDA_SUCCESS;

    if (device >= MAX_DEVICES)
        return result;
    (void)pthread_mutex_lock(&lock);
    if (!is_kept[device])
        result = retain(&unused, device);
    is_kept[device] = result == CUDA_SUCCESS;
    (void)pthread_mutex_unlock(&lock);
    return result;
}
