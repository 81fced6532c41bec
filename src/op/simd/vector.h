/* op/simd/vector.h -- the vectors of the instruction set compiled for.
 *
 * vec is a vector of VEC_WIDTH floats, veci the same number of int32_t, vmask
 * one truth value per lane; VEC_REGISTERS of them are in registers. +, -, * and
 * / work on vec directly, & and | on veci.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_VECTOR_H
#define ETX_OP_SIMD_VECTOR_H

#ifdef __x86_64__
#include "op/simd/vector_x86.h"
#else
#include "op/simd/vector_neon.h"
#endif

static inline veci vi_and(veci a, veci b)
{
    return a & b;
}

static inline veci vi_or(veci a, veci b)
{
    return a | b;
}

#endif
