/* learn/residuals.h -- residuals of true hits, and their quantiles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_RESIDUALS_H
#define ETX_LEARN_RESIDUALS_H

#include "stage/helix/crossing.h"

#include <stdbool.h>
#include <stddef.h>

#define ETX_MIN_SAMPLES 25 /* of a quantile */

/* One residual, mm: of which window, and how large. */
struct etx_residual_sample {
    int64_t key;
    float transverse, longitudinal;
};

/* Zeroed: empty. */
struct etx_residuals {
    struct etx_residual_sample *residual;
    int64_t n, capacity;
};

/* Raise the capacity of an array so that it has an element n. */
etx_status etx_residuals_grow(
    void *array, int64_t *capacity, int64_t n, size_t size);

etx_status etx_residuals_add(struct etx_residuals *residuals, int64_t key,
    const struct etx_residual *residual);
void etx_residuals_free(struct etx_residuals *residuals);

/* By key, then by one of the two. */
void etx_residuals_sort(struct etx_residuals *residuals, bool is_longitudinal);
/* Set this one of window from the 68 % quantile of key; too few: unchanged.
 * residuals are sorted by it. */
void etx_residuals_quantile(struct etx_completion_window *window,
    const struct etx_residuals *residuals, bool is_longitudinal, int64_t key);
/* Bins [ETX_COMPLETION_N_PT] without a window get that of the nearest that has
 * one. */
void etx_residuals_fill(struct etx_completion_window *window);

#endif
