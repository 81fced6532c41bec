/* base/float16.h -- floats in half the bits: float16 of IEEE 754.
 *
 * Its sign, 5 bits of exponent and 10 of fraction: every float32 between 2^-14
 * and 65504 has a neighbour within 2^-11 of itself.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_FLOAT16_H
#define ETX_BASE_FLOAT16_H

#include <stdint.h>

/* The nearest float16 of x, ties to the even one; infinite from 65520 on, what
 * is not a number stays so. */
uint16_t etx_float16_from_float(float x);

/* Its value, exactly. */
float etx_float16_to_float(uint16_t half);

/* The same of x [n] into out [n], which must not overlap. */
void etx_float16_from_floats(uint16_t *out, const float *x, int64_t n);
void etx_float16_to_floats(float *out, const uint16_t *x, int64_t n);

#endif
