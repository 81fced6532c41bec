/* base/int16.c -- rows of floats as integers of 16 bits with a common scale.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/int16.h"

#include <math.h>
#include <string.h>

/* The largest size and the sum of sizes of x [n]. */
struct sizes {
    float most;
    double sum; /* not finite where one of them is not */
};

static struct sizes measure(const float *x, int64_t n)
{
    struct sizes sizes = {0.0f, 0.0};

    for (int64_t i = 0; i < n; i++) {
        const float size = fabsf(x[i]);

        sizes.most = size > sizes.most ? size : sizes.most;
        sizes.sum += (double)size;
    }
    return sizes;
}

float etx_int16_from_inputs(int16_t *out, const float *x, int64_t n)
{
    const struct sizes sizes = measure(x, n);
    const int is_finite = isfinite(sizes.sum);
    const float inverse = is_finite && sizes.most >= ETX_INT16_TINY
                              ? (float)ETX_INT16_INPUT / sizes.most
                              : 0.0f;

    if (!is_finite) {
        memset(out, 0, (size_t)n * sizeof *out);
        return NAN;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = (int16_t)lrintf(x[i] * inverse);
    return sizes.most / (float)ETX_INT16_INPUT;
}

float etx_int16_from_weights(int16_t *out, const float *x, int64_t n)
{
    const struct sizes sizes = measure(x, n);
    /* Rounding adds at most a half to each. */
    const double together = (double)(ETX_INT16_WEIGHTS - n) / sizes.sum;
    const double one = (double)INT16_MAX / (double)sizes.most;
    const double inverse = together < one ? together : one;

    if (!isfinite(sizes.sum) || sizes.most < ETX_INT16_TINY) {
        memset(out, 0, (size_t)n * sizeof *out);
        return isfinite(sizes.sum) ? 0.0f : NAN;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = (int16_t)lrint((double)x[i] * inverse);
    return (float)(1.0 / inverse);
}
