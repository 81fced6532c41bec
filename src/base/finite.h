/* base/finite.h -- look for numbers that are none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_FINITE_H
#define ETX_BASE_FINITE_H

#include <stdint.h>

/* Index of the first NaN or infinity of values [count], -1 without. Looks at
 * bits, so that a signalling NaN traps in no host. */
int64_t etx_find_not_finite(const float *values, int64_t count);

#endif
