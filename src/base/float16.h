/* base/float16.h -- float32 to float16 (IEEE 754 binary16) and back.
 *
 * With 10 bits of fraction, rounding a float32 between 2^-14 and 65504 changes
 * it by at most 2^-11 of its value.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_FLOAT16_H
#define ETX_BASE_FLOAT16_H

#include <stdint.h>

/* The nearest float16 of x, ties to even; infinite from 65520 on. NaN gives a
 * quiet NaN. */
uint16_t etx_float16_from_float(float x);

/* The value of a float16, exactly. */
float etx_float16_to_float(uint16_t half);

/* The same for arrays [n], which must not overlap. */
void etx_float16_from_floats(uint16_t *out, const float *x, int64_t n);
void etx_float16_to_floats(float *out, const uint16_t *x, int64_t n);

#endif
