/* cuda/backend/mma.cuh -- instructions of a GPU: products of tiles on tensor
 * cores, and dynamic shared memory.
 *
 * The tile product is mma.sync m16n8k16 of the PTX manual (section "Matrix
 * multiply-accumulate operation using mma instruction"): d [16, 8] += a [16,
 * 16] b [16, 8], float16 times float16 into float32. With g = lane / 4 and t =
 * lane % 4 a lane holds, two float16 a word,
 *
 *   a: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8) then columns + 1
 *   b: (2t, g), (2t + 8, g) then rows + 1
 *   d: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) as float32
 *
 * so that the d of two neighbouring tiles, rounded, is the a of the next
 * product without leaving the lane.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_BACKEND_MMA_CUH
#define ETX_CUDA_BACKEND_MMA_CUH

#include <stdint.h>

/* Before a loop: unroll it, to keep arrays in registers; or do not. */
#define ETX_UNROLL    _Pragma("unroll")
#define ETX_KEEP_LOOP _Pragma("unroll 1")

__device__ static inline void etx_mma(
    float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The dynamic shared memory of the launch, aligned to 16 bytes. */
__device__ static inline uint4 *etx_shared_memory()
{
    extern __shared__ uint4 etx_shared_bytes[];

    return etx_shared_bytes;
}

#endif
