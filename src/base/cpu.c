/* base/cpu.c -- what the processor can do.
 *
 * The compiler's run-time library reads cpuid, and xgetbv (whether the
 * operating system saves the wide registers), once, before main.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* syscall */
#include "base/cpu.h"

#if ETX_TILES
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__x86_64__)

static int32_t has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int32_t has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

int32_t etx_cpu_has_bfloat16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0;
}

int32_t etx_cpu_has_vnni(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vnni") != 0;
}

#else

int32_t etx_cpu_has_bfloat16(void)
{
    return 0;
}

int32_t etx_cpu_has_vnni(void)
{
    return 0;
}

#endif

#if defined(__aarch64__)

/* Part of the architecture. */
static int32_t has_neon(void)
{
    return 1;
}

#endif

#define LEVEL_NAME(constant, isa) [ETX_CPU_##constant] = #isa,

const char *const etx_cpu_level_names[ETX_N_CPU_LEVELS] = {
    [ETX_CPU_BEST] = "best",
    [ETX_CPU_REF] = "ref",
    ETX_CPU_LEVELS_X86(LEVEL_NAME) ETX_CPU_LEVELS_ARM(LEVEL_NAME)};

#define IS_SUPPORTED(constant, isa)                                            \
    || (level == ETX_CPU_##constant && has_##isa())

int32_t etx_cpu_has(int32_t level)
{
    return level == ETX_CPU_REF ETX_CPU_LEVELS(IS_SUPPORTED);
}

int32_t etx_cpu_level(void)
{
    int32_t level = ETX_N_CPU_LEVELS - 1;

    while (!etx_cpu_has(level))
        level--;
    return level;
}

#if ETX_TILES

/* From the manual of Linux, x86/xstate; older headers lack the names. */
#define REQUEST_STATE 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA     18     /* XFEATURE_XTILEDATA */

/* Bits of edx of leaf 7. */
#define AMX_BF16 (1u << 22)
#define AMX_TILE (1u << 24)

int32_t etx_cpu_has_tiles(void)
{
    unsigned int a, b, c, d;

    if (!etx_cpu_has_bfloat16() || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
        (d & (AMX_BF16 | AMX_TILE)) != (AMX_BF16 | AMX_TILE))
        return 0;
    return syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
}

#else

int32_t etx_cpu_has_tiles(void)
{
    return 0;
}

#endif
