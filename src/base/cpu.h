/* base/cpu.h -- what the processor can do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CPU_H
#define ETX_BASE_CPU_H

#include <exatrkx/exatrkx.h>

/* 1: the compiler and Linux know the tile registers of AMX. */
#if defined(__x86_64__) && defined(__linux__) &&                               \
    (defined(__clang__) || __GNUC__ >= 11)
#define ETX_TILES 1
#else
#define ETX_TILES 0
#endif

/* The levels of an architecture above ETX_CPU_REF, ascending: X(constant, isa)
 * is ETX_CPU_<constant>, the operators etx_<name>_<isa> (op/simd/), which the
 * Makefile compiles with FLAGS_<isa>, and has_<isa> of cpu.c. */
#define ETX_CPU_LEVELS_X86(X)                                                  \
    X(AVX2, avx2)                                                              \
    X(AVX512, avx512)
#define ETX_CPU_LEVELS_ARM(X) X(NEON, neon)

/* The list of the architecture that is compiled for. */
#if defined(__x86_64__)
#define ETX_CPU_LEVELS ETX_CPU_LEVELS_X86
#elif defined(__aarch64__)
#define ETX_CPU_LEVELS ETX_CPU_LEVELS_ARM
#else
#define ETX_CPU_LEVELS(X)
#endif

#define ETX_CPU_LEVEL_COUNT(constant, isa) +1
enum {
    ETX_N_CPU_LEVELS = ETX_CPU_REF + 1 ETX_CPU_LEVELS_X86(ETX_CPU_LEVEL_COUNT)
                                         ETX_CPU_LEVELS_ARM(ETX_CPU_LEVEL_COUNT)
};

/* "best", "ref", "avx2", ... by ETX_CPU_ constant. */
extern const char *const etx_cpu_level_names[ETX_N_CPU_LEVELS];

/* 1 if the processor and the operating system support the level, an ETX_CPU_
 * other than ETX_CPU_BEST. */
int32_t etx_cpu_has(int32_t level);

/* Repeat what follows for each of these, ETX_CPU_REF first. */
#define ETX_EACH_CPU_LEVEL(level)                                              \
    for (int32_t level = ETX_CPU_REF; level < ETX_N_CPU_LEVELS; level++)       \
        if (etx_cpu_has(level))

/* The highest of these. */
int32_t etx_cpu_level(void);

/* 1 if there are AVX-512 and AVX512_BF16. */
int32_t etx_cpu_has_bfloat16(void);

/* 1 if there are AVX-512 and AVX512_VNNI. */
int32_t etx_cpu_has_vnni(void);

/* 1 if there are AVX-512, AVX512_BF16, AMX_TILE and AMX_BF16 and Linux lets
 * this process use them: it is requested to. Once it does, no thread may have
 * an alternate signal stack of less than AT_MINSIGSTKSZ bytes; where one has,
 * it refuses. */
int32_t etx_cpu_has_tiles(void);

#endif
