/* op/simd/table.c -- choose the versions for an instruction set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"

#include "op/simd/operators.h"

#define USE(name, isa) table->name = etx_##name##_##isa;
#define USE_LEVEL(constant, isa)                                               \
    if (cpu_level == ETX_CPU_##constant) {                                     \
        ETX_SIMD_OPERATORS(USE, isa)                                           \
    }

void etx_op_simd(struct etx_op_table *table, int32_t cpu_level)
{
    ETX_CPU_LEVELS(USE_LEVEL)
    (void)table; /* where there is no level */
    (void)cpu_level;
}
