/* train/pt_loss.h -- the loss of a head that predicts transverse momenta.
 *
 * A true edge belongs to a particle, whose momentum bends it: a network that
 * learns to say which one, besides whether the edge is true, is led to latents
 * that know the curvature.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_PT_LOSS_H
#define ETX_TRAIN_PT_LOSS_H

#include "train/edge_choice.h"
#include "train/sample.h"

/* out [edges->n], in the arena: of true edges with a weight ln(pT / GeV) or
 * GeV / pT, as the options say; of others nan, and of those whose particle has
 * no transverse momentum. graph is that of the edges on the places of the
 * sample. */
etx_status etx_pt_targets(float **out, struct etx_arena *arena,
    const struct etx_train_loss *options, const struct etx_event *event,
    const struct etx_sample *sample, const struct etx_graph *graph,
    const struct etx_step_edges *edges);

/* scale * sum of (pt - target)^2 over edges with a target, and its gradient
 * d_pt; all [n]. Summed in the order of the edges. */
double etx_pt_loss(float *d_pt, int64_t n, const float *pt,
    const float *target, double scale);

#endif
