/* learn/residuals.c -- windows from the residuals of true hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/residuals.h"

#include "base/check.h"

#include <math.h>
#include <string.h>

#define QUANTILE         68    /* % */
#define MIN_TRANSVERSE   0.01f /* mm */
#define MIN_LONGITUDINAL 0.02f

etx_status etx_residuals_add(struct etx_samples *residuals, int64_t key,
    const struct etx_residual *residual)
{
    const float value[ETX_N_RESIDUALS] = {
        (float)fabs(residual->transverse), (float)fabs(residual->longitudinal)};

    return etx_samples_add(residuals, key, value);
}

/* Of a column of group g, but at least `least`. */
static etx_status quantile(float *out, const struct etx_sample_groups *groups,
    int64_t g, int32_t column, float least)
{
    const float *value;
    int64_t n;
    etx_status status;

    ETX_CHECK(etx_sample_groups_sort(&value, &n, groups, g, column));
    *out = fmaxf(value[n * QUANTILE / 100], least);
done:
    return status;
}

etx_status etx_residuals_window(struct etx_completion_window *window,
    const struct etx_sample_groups *groups, int64_t key)
{
    const int64_t g = etx_sample_groups_find(groups, key);
    etx_status status;

    if (g < 0 || groups->first[g + 1] - groups->first[g] < ETX_MIN_SAMPLES)
        return ETX_OK;
    ETX_CHECK(quantile(
        &window->transverse, groups, g, ETX_TRANSVERSE, MIN_TRANSVERSE));
    ETX_CHECK(quantile(
        &window->longitudinal, groups, g, ETX_LONGITUDINAL, MIN_LONGITUDINAL));
done:
    return status;
}

void etx_residuals_fill(struct etx_completion_window *window)
{
    struct etx_completion_window measured[ETX_COMPLETION_N_PT];

    memcpy(measured, window, sizeof measured);
    for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++)
        for (int32_t d = 1;
             d < ETX_COMPLETION_N_PT && window[b].transverse <= 0.0f; d++) {
            if (b + d < ETX_COMPLETION_N_PT)
                window[b] = measured[b + d];
            if (window[b].transverse <= 0.0f && b >= d)
                window[b] = measured[b - d];
        }
}
