/* base/int16.h -- rows of floats as integers of 16 bits with a common scale:
 * x[i] is out[i] * scale, up to rounding.
 *
 * The sum of the products of a row of inputs and one of weights is below 2^31
 * in size, whatever they are: inputs are at most 2^12 - 1, the sizes of a row
 * of weights at most 2^19 together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_INT16_H
#define ETX_BASE_INT16_H

#include <stdint.h>

#define ETX_INT16_INPUT   4095
#define ETX_INT16_WEIGHTS (1 << 19) /* of a row, together */

/* A row whose largest size is below this is 0. */
#define ETX_INT16_TINY 1e-30f

/* out [n] = inputs x [n]; returns their scale, NaN where one is not finite. */
float etx_int16_from_inputs(int16_t *out, const float *x, int64_t n);

/* out [n] = weights x [n], n < ETX_INT16_WEIGHTS; else the same. */
float etx_int16_from_weights(int16_t *out, const float *x, int64_t n);

#endif
