/* base/finite.h -- keep numbers finite, find those that are not.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_FINITE_H
#define ETX_BASE_FINITE_H

#include "base/status.h"

#include <float.h>

/* Index of the first NaN or infinity of values [count], -1 without. Looks at
 * bits, so that a signalling NaN traps in no host. */
int64_t etx_find_not_finite(const float *values, int64_t count);

/* The same, or a magnitude above bound. */
int64_t etx_find_beyond(const float *values, int64_t count, float bound);
/* ETX_ERR_LIMIT for one of values [n_rows, n_columns] above bound, by the names
 * of the values and of a row. */
etx_status etx_check_within(const char *what, const char *row,
    const float *values, int64_t n_rows, int64_t n_columns, float bound);

/* The float nearest to value, and never an infinity. */
static inline float etx_narrow(double value)
{
    if (value > (double)FLT_MAX)
        return FLT_MAX;
    if (value < -(double)FLT_MAX)
        return -FLT_MAX;
    return (float)value;
}

#endif
