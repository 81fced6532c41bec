/* op/simd/isa.h -- names of what is compiled once per instruction set.
 *
 * The Makefile compiles kernels/ once for each of ETX_CPU_LEVELS (base/cpu.h),
 * with ETX_ISA set to its isa.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_ISA_H
#define ETX_OP_SIMD_ISA_H

#define ETX_ISA_PASTE(name, isa)  etx_##name##_##isa
#define ETX_ISA_EXPAND(name, isa) ETX_ISA_PASTE(name, isa)

/* etx_<name>_avx2, etx_<name>_avx512 or etx_<name>_neon. */
#define ETX_ISA_NAME(name) ETX_ISA_EXPAND(name, ETX_ISA)

#endif
