/* base/bfloat16.h -- floats in half the bits: bfloat16.
 *
 * The upper half of a float32: its sign, its 8 bits of exponent and 7 of its
 * fraction, so that every float32 has a neighbour within 2^-8 of itself.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_BFLOAT16_H
#define ETX_BASE_BFLOAT16_H

#include <stdint.h>

/* out [n] = the nearest bfloat16 of x [n], ties to the even one; what is not
 * a number stays so. out and x must not overlap. */
void etx_bfloat16_from_floats(uint16_t *out, const float *x, int64_t n);

/* out [n] = x [n], exactly. out and x must not overlap. */
void etx_bfloat16_to_floats(float *out, const uint16_t *x, int64_t n);

#endif
