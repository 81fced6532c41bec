/* train/objective/momentum_loss.h -- the loss of a head that predicts
 * transverse momenta.
 *
 * An auxiliary task: the curvature of a true edge's track is inversely
 * proportional to the particle's transverse momentum, so a network that also
 * predicts the momentum learns latents that contain the curvature.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_OBJECTIVE_MOMENTUM_LOSS_H
#define ETX_TRAIN_OBJECTIVE_MOMENTUM_LOSS_H

#include "train/sampling/edge_sampling.h"

/* *out [edges->n], in the arena: the target of each edge of graph, ln(pT / GeV)
 * or GeV / pT by options->pt_target. It is nan for false edges, edges without
 * weight and particles without transverse momentum. Node i of graph is hit
 * row[i] of the event, or i where row is NULL. */
etx_status etx_pt_targets(float **out, struct etx_arena *arena,
    const struct etx_train_loss *options, const struct etx_event *event,
    const int32_t *row, const struct etx_graph *graph,
    const struct etx_step_edges *edges);

/* *loss = scale * sum of (pt - target)^2 over edges with a target, and
 * gradient_scale times its gradient d_pt; all [n], target on the host, the
 * others in the memory of the context. */
etx_status etx_pt_loss(double *loss, float *d_pt, struct etx_context *context,
    int64_t n, const float *pt, const float *target, double scale,
    double gradient_scale);

/* Sums over the edges of validation events that have a target. */
struct etx_pt_totals {
    double n;
    double squared_error; /* sum of (pt - target)^2 */
    double value, square; /* sums of target and target^2 */
};

/* Add n edges, in their order. */
void etx_pt_totals_add(struct etx_pt_totals *totals, int64_t n, const float *pt,
    const float *target);

/* Root of the mean squared error, and the standard deviation of the targets;
 * nan without edges. */
double etx_pt_totals_error(const struct etx_pt_totals *totals);
double etx_pt_totals_spread(const struct etx_pt_totals *totals);

#endif
