/* op/x86/table.c -- choose the versions for an instruction set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"

#include "op/x86/operators.h"

#define USE_AVX2(name)   table->name = etx_##name##_avx2;
#define USE_AVX512(name) table->name = etx_##name##_avx512;

void etx_op_x86(struct etx_op_table *table, int32_t cpu_level)
{
#if defined(__x86_64__)
    if (cpu_level == ETX_CPU_AVX2) {
        ETX_X86_OPERATORS(USE_AVX2)
    } else if (cpu_level == ETX_CPU_AVX512) {
        ETX_X86_OPERATORS(USE_AVX512)
    }
#else
    (void)table;
    (void)cpu_level;
#endif
}
