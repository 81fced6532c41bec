/* op/x86/vector.h -- the vectors of the instruction set compiled for.
 *
 * vec is a vector of VEC_WIDTH floats, veci the same number of int32_t, vmask
 * one truth value per lane. +, -, * and / work on vec and veci directly.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_X86_VECTOR_H
#define ETX_OP_X86_VECTOR_H

#ifdef __AVX512F__
#include "op/x86/vector512.h"
#else
#include "op/x86/vector256.h"
#endif

#endif
