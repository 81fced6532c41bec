/* learn/residuals.c -- windows from the residuals of true hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/residuals.h"

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

static float quantile(
    const struct etx_sample_groups *groups, int64_t g, int32_t column)
{
    int64_t n;
    const float *const value = etx_sample_groups_sort(&n, groups, g, column);

    return value[n * QUANTILE / 100];
}

void etx_residuals_window(struct etx_completion_window *window,
    const struct etx_sample_groups *groups, int64_t key)
{
    const int64_t g = etx_sample_groups_find(groups, key);

    if (g < 0 || groups->first[g + 1] - groups->first[g] < ETX_MIN_SAMPLES)
        return;
    window->transverse =
        fmaxf(quantile(groups, g, ETX_TRANSVERSE), MIN_TRANSVERSE);
    window->longitudinal =
        fmaxf(quantile(groups, g, ETX_LONGITUDINAL), MIN_LONGITUDINAL);
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
