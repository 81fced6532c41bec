/* train/ratio.h -- a quotient that may have nothing to divide by.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_RATIO_H
#define ETX_TRAIN_RATIO_H

#include <math.h>

/* part / whole; nan when whole is not positive. */
static inline double etx_ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : (double)NAN;
}

#endif
