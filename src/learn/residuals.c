/* learn/residuals.c -- residuals of true hits, and their quantiles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/residuals.h"

#include "base/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY   (INT64_C(1) << 16)
#define QUANTILE         68    /* % */
#define MIN_TRANSVERSE   0.01f /* mm */
#define MIN_LONGITUDINAL 0.02f

etx_status etx_residuals_grow(
    void *array, int64_t *capacity, int64_t n, size_t size)
{
    const int64_t more = *capacity > 0 ? 2 * *capacity : FIRST_CAPACITY;
    etx_status status;

    if (n < *capacity)
        return ETX_OK;
    status = etx_resize(array, *capacity, more, size, "residuals of tracks");
    if (status == ETX_OK)
        *capacity = more;
    return status;
}

etx_status etx_residuals_add(struct etx_residuals *residuals, int64_t key,
    const struct etx_residual *residual)
{
    const etx_status status = etx_residuals_grow(&residuals->residual,
        &residuals->capacity, residuals->n, sizeof *residuals->residual);

    if (status == ETX_OK)
        residuals->residual[residuals->n++] =
            (struct etx_residual_sample){.key = key,
                .transverse = (float)fabs(residual->transverse),
                .longitudinal = (float)fabs(residual->longitudinal)};
    return status;
}

void etx_residuals_free(struct etx_residuals *residuals)
{
    etx_free(residuals->residual);
}

static int compare_transverse(const void *left, const void *right)
{
    const struct etx_residual_sample *const a = left;
    const struct etx_residual_sample *const b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->transverse > b->transverse) - (a->transverse < b->transverse);
}

static int compare_longitudinal(const void *left, const void *right)
{
    const struct etx_residual_sample *const a = left;
    const struct etx_residual_sample *const b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->longitudinal > b->longitudinal) -
           (a->longitudinal < b->longitudinal);
}

void etx_residuals_sort(struct etx_residuals *residuals, bool is_longitudinal)
{
    if (residuals->n > 0)
        qsort(residuals->residual, (size_t)residuals->n,
            sizeof *residuals->residual,
            is_longitudinal ? compare_longitudinal : compare_transverse);
}

void etx_residuals_quantile(struct etx_completion_window *window,
    const struct etx_residuals *residuals, bool is_longitudinal, int64_t key)
{
    const struct etx_residual_sample *const residual = residuals->residual;
    int64_t low = 0;
    int64_t high = residuals->n;
    int64_t end;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (residual[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    end = low;
    while (end < residuals->n && residual[end].key == key)
        end++;
    if (end - low < ETX_MIN_SAMPLES)
        return;
    const struct etx_residual_sample *const at =
        &residual[low + (end - low) * QUANTILE / 100];
    if (is_longitudinal)
        window->longitudinal = fmaxf(at->longitudinal, MIN_LONGITUDINAL);
    else
        window->transverse = fmaxf(at->transverse, MIN_TRANSVERSE);
}

void etx_residuals_fill(struct etx_completion_window *window)
{
    struct etx_completion_window known[ETX_COMPLETION_N_PT];

    memcpy(known, window, sizeof known);
    for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++)
        for (int32_t d = 1;
             d < ETX_COMPLETION_N_PT && window[b].transverse <= 0.0f; d++) {
            if (b + d < ETX_COMPLETION_N_PT)
                window[b] = known[b + d];
            if (window[b].transverse <= 0.0f && b >= d)
                window[b] = known[b - d];
        }
}
