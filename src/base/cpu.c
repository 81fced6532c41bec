/* base/cpu.c -- what the processor can do.
 *
 * The compiler's run-time library reads cpuid, and xgetbv (whether the
 * operating system saves the wide registers), once, before main.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#if defined(__x86_64__)

int32_t etx_cpu_level(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return ETX_CPU_REF;
    if (!__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl"))
        return ETX_CPU_AVX2;
    return ETX_CPU_AVX512;
}

int32_t etx_cpu_has_bfloat16(void)
{
    return etx_cpu_level() == ETX_CPU_AVX512 &&
           __builtin_cpu_supports("avx512bf16") != 0;
}

#else

int32_t etx_cpu_has_bfloat16(void)
{
    return 0;
}

int32_t etx_cpu_level(void)
{
    return ETX_CPU_REF;
}

#endif
