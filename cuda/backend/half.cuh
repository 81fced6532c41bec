/* cuda/backend/half.cuh -- conversion of float16 and bfloat16, which operators
 * store as uint16_t.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_HALF_CUH
#define ETX_CUDA_BACKEND_HALF_CUH

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ static inline uint16_t etx_half(float x)
{
    return __half_as_ushort(__float2half_rn(x));
}

__device__ static inline float etx_unhalf(uint16_t half)
{
    return __half2float(__ushort_as_half(half));
}

/* The nearest bfloat16, ties to even, as in base/bfloat16.c: half a unit of the
 * last kept bit is added; NaN stays NaN. */
__device__ static inline uint16_t etx_bfloat16(float x)
{
    const uint32_t bits = __float_as_uint(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ static inline float etx_unbfloat16(uint16_t bits)
{
    return __uint_as_float((uint32_t)bits << 16);
}

/* Two of them in a word, the first in its lower bits, as in memory. */
__device__ static inline uint32_t etx_half_pair(float first, float second)
{
    const __half2 pair = __floats2half2_rn(first, second);

    return *reinterpret_cast<const uint32_t *>(&pair);
}

#endif
