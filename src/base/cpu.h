/* base/cpu.h -- what the processor can do.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CPU_H
#define ETX_BASE_CPU_H

#include <exatrkx/exatrkx.h>

/* The highest of ETX_CPU_REF, _AVX2, _AVX512 that the processor and the
 * operating system support (cpuid and xgetbv); found once. */
int32_t etx_cpu_level(void);

/* 1 if that is ETX_CPU_AVX512 and there is AVX512_BF16. */
int32_t etx_cpu_has_bfloat16(void);

#endif
