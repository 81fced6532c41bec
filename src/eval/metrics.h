/* eval/metrics.h -- counts of one event, and rates of many.
 *
 * The definitions are in docs/evaluation.md.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EVAL_METRICS_H
#define ETX_EVAL_METRICS_H

#include "eval/matching.h"

/* Counts of one event alone, its TrackML score included. */
etx_status etx_count_event(etx_evaluation_counts *out,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options);

/* TrackML scores of one event in [0, 1]: with the weights of all particles, and
 * of particles of generation 0 alone. */
struct etx_scores {
    double all, primary;
};

etx_status etx_trackml_scores(struct etx_scores *out,
    const struct etx_event *event, const struct etx_tracks *tracks);

/* matched of total with its 68.27 % Clopper-Pearson interval;
 * 0 <= matched <= total. Relative accuracy 1e-13, or 1e-16 total. */
etx_rate etx_clopper_pearson(int64_t matched, int64_t total);

/* The quantile `probability` of the beta distribution with whole a, b >= 1:
 * the x in [0, 1] where the regularised incomplete beta function I_x(a, b)
 * reaches it. */
double etx_beta_quantile(double probability, double a, double b);

/* out [n_particles] = hypot of the differences in pseudorapidity and azimuth to
 * the nearest other particle with min_hits of n_hits [n_particles]; INFINITY
 * where there is none, and along the beam line. */
etx_status etx_nearest_particles(double *out, const struct etx_event *event,
    const int32_t *n_hits, int32_t min_hits);

/* Add reconstructable selected particles and the matched of them to the bins
 * of a variable, ETX_VARIABLE_; edges [n_bins + 1] ascending. */
etx_status etx_count_binned(int64_t *total, int64_t *matched,
    const struct etx_event *event, const struct etx_tracks *tracks,
    int32_t variable, int64_t n_bins, const double *edges,
    const etx_evaluation_options *options);

#endif
