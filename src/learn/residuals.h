/* learn/residuals.h -- windows from the residuals of true hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_RESIDUALS_H
#define ETX_LEARN_RESIDUALS_H

#include "learn/samples.h"
#include "stage/helix/crossing.h"

#define ETX_MIN_SAMPLES 25 /* of a quantile */

enum { ETX_TRANSVERSE, ETX_LONGITUDINAL, ETX_N_RESIDUALS }; /* columns */

etx_status etx_residuals_add(struct etx_samples *residuals, int64_t key,
    const struct etx_residual *residual);
/* The 68 % quantiles of key; too few residuals: unchanged. */
etx_status etx_residuals_window(struct etx_completion_window *window,
    const struct etx_sample_groups *groups, int64_t key);
/* Bins [ETX_COMPLETION_N_PT] without a window get that of the nearest that has
 * one. */
void etx_residuals_fill(struct etx_completion_window *window);

#endif
