/* cuda_shim/cuda_fp16.h -- float16 on the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUDA_FP16_H
#define ETX_SHIM_CUDA_FP16_H

#include <stdint.h>

extern "C" {
#include "base/float16.h"
}

struct __half {
    uint16_t bits;
};

struct alignas(4) __half2 {
    __half x, y; /* x in the lower bits */
};

static inline __half __float2half_rn(float x)
{
    return {etx_float16_from_float(x)};
}

static inline __half2 __floats2half2_rn(float x, float y)
{
    return {__float2half_rn(x), __float2half_rn(y)};
}

static inline float __half2float(__half half)
{
    return etx_float16_to_float(half.bits);
}

static inline uint16_t __half_as_ushort(__half half)
{
    return half.bits;
}

static inline __half __ushort_as_half(uint16_t bits)
{
    return {bits};
}

#endif
